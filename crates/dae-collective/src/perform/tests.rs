//! Plans done by threads, against the same plans followed in one.

use super::*;
use crate::plan::tests::{algorithm, number, simulate};
use crate::{Algorithm, Collective, MemoryPeers, Phase};
use proptest::prelude::*;
use std::time::Duration;

const STALL: Duration = Duration::from_secs(20);

/// So many nodes, each on a thread.
fn nodes<R: Send>(world: usize, work: impl Fn(usize, &mut MemoryPeers) -> R + Sync) -> Vec<R> {
    let names: Vec<_> = (0..world).map(|n| format!("node {n}")).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = MemoryPeers::mesh(&names, STALL)
            .into_iter()
            .enumerate()
            .map(|(node, mut peers)| {
                let work = &work;
                scope.spawn(move || work(node, &mut peers))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn tag(step: u64) -> Tag {
    Tag::new(1, step, Phase::Gradients)
}

fn sums(step: u64) -> Tag {
    Tag { phase: Phase::Sums, ..tag(step) }
}

fn all_reduce(peers: &mut MemoryPeers, step: u64, plan: &Plan, numbers: &mut [f32]) -> Result<(), Broken> {
    let mut room = vec![];
    perform(peers, tag(step), plan.adding(), numbers, &mut room)?;
    perform(peers, sums(step), plan.copying(), numbers, &mut room)
}

fn plan(algorithm: Algorithm, world: usize, node: usize, len: usize) -> Plan {
    Plan::new(algorithm, Collective::AllReduce, world, node, len)
}

fn mine(node: usize, len: usize) -> Vec<f32> {
    (0..len).map(|i| number(node, i)).collect()
}

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn threads_do_what_the_plans_say(algorithm in algorithm(), world in 1usize..10, len in 0usize..700) {
        let plans: Vec<_> = (0..world).map(|node| plan(algorithm, world, node, len)).collect();
        let mut expected: Vec<_> = (0..world).map(|node| mine(node, len)).collect();
        simulate(&plans, &mut expected);
        let outcomes = nodes(world, |node, peers| {
            let mut numbers = mine(node, len);
            all_reduce(peers, 1, &plans[node], &mut numbers).map(|()| numbers)
        });
        for (outcome, expected) in outcomes.into_iter().zip(expected) {
            prop_assert_eq!(bits(&outcome.unwrap()), bits(&expected));
        }
    }

    #[test]
    fn terms_stay_as_they_are_and_are_summed_as_if_they_had_been_before(
        algorithm in algorithm(), world in 2usize..10, len in 0usize..700, terms in 1usize..4,
    ) {
        let outcomes = nodes(world, |node, peers| {
            let plan = plan(algorithm, world, node, len);
            let terms: Vec<_> = (0..terms).map(|term| mine(node * 4 + term, len)).collect();
            let terms: Vec<_> = terms.iter().map(Vec::as_slice).collect();
            let mut expected = vec![0.0; len];
            sum(&terms, &mut expected);
            all_reduce(peers, 1, &plan, &mut expected).unwrap();
            // What lay there before does not count.
            let (mut numbers, mut room) = (vec![f32::NAN; len], vec![]);
            let into = (&mut numbers[..], &mut room);
            perform_with(peers, tag(2), plan.adding(), into, Some(&mut Terms::new(&terms)), None).unwrap();
            perform(peers, sums(2), plan.copying(), &mut numbers, &mut room).unwrap();
            (bits(&numbers), bits(&expected))
        });
        for (numbers, expected) in outcomes {
            prop_assert_eq!(numbers, expected);
        }
    }

    #[test]
    fn exact_sums_do_not_know_the_algorithm(world in 1usize..8, len in 0usize..300) {
        let expected: Vec<_> =
            (0..len).map(|i| (0..world as i64).map(|n| n * 77 + i as i64).sum::<i64>() as f32 / 8.0).collect();
        for algorithm in Algorithm::ALL {
            let outcomes = nodes(world, |node, peers| {
                let mut integers: Vec<i64> = (0..len).map(|i| node as i64 * 77 + i as i64).collect();
                let mut total = vec![f32::NAN; len];
                let finish = |sums: &[i64], total: &mut [f32]| {
                    total.iter_mut().zip(sums).for_each(|(t, s)| *t = *s as f32 / 8.0);
                };
                let plan = plan(algorithm, world, node, len);
                let into = (&mut total[..], finish);
                let from = (&mut integers[..], &mut vec![]);
                perform_exact(peers, [tag(1), sums(1)], &plan, from, into, (None, None)).map(|()| total)
            });
            for outcome in outcomes {
                prop_assert_eq!(outcome.unwrap(), &expected[..]);
            }
        }
    }

    #[test]
    fn a_node_lost_at_any_point_hangs_nobody(
        algorithm in algorithm(), world in 2usize..8, who in 0usize..8, after in 0usize..16, said in any::<bool>(),
    ) {
        const LEN: usize = 500;
        let who = who % world;
        let outcomes = nodes(world, |node, peers| {
            let plan = plan(algorithm, world, node, LEN);
            let mut numbers = mine(node, LEN);
            if node == who {
                let (adding, copying) = (plan.adding(), plan.copying());
                let some = &adding[..after.min(adding.len())];
                perform(peers, tag(1), some, &mut numbers, &mut vec![])?;
                let some = &copying[..after.saturating_sub(adding.len()).min(copying.len())];
                perform(peers, sums(1), some, &mut numbers, &mut vec![])?;
                if said {
                    peers.abort("out of cheese");
                }
                return Err(Broken::Left { rank: node, cause: String::new() });
            }
            let outcome = all_reduce(peers, 1, &plan, &mut numbers);
            if let Err(broken) = &outcome {
                peers.abort(&broken.to_string());
            }
            outcome.map(|()| numbers)
        });
        let mut whole = vec![];
        for (node, outcome) in outcomes.into_iter().enumerate().filter(|(node, _)| *node != who) {
            match outcome {
                Ok(numbers) => whole.push(bits(&numbers)),
                Err(Broken::Node { cause, .. }) if said => prop_assert!(cause.contains("out of cheese"), "{node}: {cause}"),
                Err(Broken::Node { cause, .. }) => prop_assert!(cause.contains("it has gone"), "{node}: {cause}"),
                Err(other) => prop_assert!(false, "{node}: {other}"),
            }
        }
        prop_assert!(whole.windows(2).all(|two| two[0] == two[1]));
    }

    #[test]
    fn what_is_stale_or_comes_twice_never_enters_a_sum(
        algorithm in algorithm(), world in 2usize..6, at in 0usize..4, wrong in 0usize..4,
    ) {
        const LEN: usize = 400;
        let wrong = |tag: Tag| match wrong {
            0 => Tag { generation: 2, ..tag },
            1 => Tag { step: 9, ..tag },
            2 => Tag { bucket: 1, ..tag },
            _ => Tag { round: tag.round + 7, ..tag },
        };
        // The last node sends something of its own in one of its rounds, before what is due.
        let outcomes = nodes(world, |node, peers| {
            let plan = plan(algorithm, world, node, LEN);
            let mut numbers = mine(node, LEN);
            if node + 1 < world {
                let outcome = all_reduce(peers, 1, &plan, &mut numbers);
                if let Err(broken) = &outcome {
                    peers.abort(&broken.to_string());
                }
                return outcome.map(|()| numbers);
            }
            let last = plan.adding().iter().rposition(|round| !round.sends.is_empty()).unwrap();
            let before = &plan.adding()[..at % (last + 1)];
            perform(peers, tag(1), before, &mut numbers, &mut vec![])?;
            let due = Tag { round: before.len() as u32, ..tag(1) };
            let poison = [f32::NAN; LEN];
            // To who is waiting for this node: the others may have gone by now.
            let rest = &plan.adding()[before.len()..];
            let sends = &rest.iter().find(|round| !round.sends.is_empty()).unwrap().sends;
            let due_to = |to: usize| sends.iter().any(|send| send.to == to);
            let out: Vec<_> = (0..world).map(|to| due_to(to).then(|| Outgoing::numbers(&poison))).collect();
            let nothing: &mut [Option<Incoming<'_>>] = &mut (0..world).map(|_| None).collect::<Vec<_>>();
            peers.exchange(wrong(due), &out, nothing)?;
            perform(peers, due, rest, &mut numbers, &mut vec![])?;
            perform(peers, sums(1), plan.copying(), &mut numbers, &mut vec![]).map(|()| numbers)
        });
        let mut refused = 0;
        for outcome in &outcomes[..world - 1] {
            match outcome {
                Ok(numbers) => prop_assert!(numbers.iter().all(|x| x.is_finite())),
                Err(Broken::Node { cause, .. }) => refused += usize::from(cause.contains("it is at ")),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
        prop_assert!(refused > 0, "{outcomes:?}");
    }
}

#[test]
fn a_thousand_in_a_row() {
    for algorithm in Algorithm::ALL {
        let outcomes = nodes(3, |node, peers| {
            let plan = plan(algorithm, 3, node, 100);
            (0..1000).for_each(|step| {
                let mut numbers = vec![(node as u64 + step) as f32; 100];
                all_reduce(peers, step, &plan, &mut numbers).unwrap();
                assert_eq!(numbers, [(3 * step + 3) as f32; 100]);
            });
        });
        assert_eq!(outcomes.len(), 3);
    }
}

#[test]
fn heads_travel_with_the_first_round() {
    for algorithm in Algorithm::ALL {
        nodes(5, |node, peers| {
            let plan = plan(algorithm, 5, node, 70);
            let (mut numbers, mut all) = (mine(node, 70), vec![vec![9; 2]; 5]);
            let heads = Heads { mine: &[node as u8, 1], all: &mut all };
            let into = (&mut numbers[..], &mut vec![]);
            perform_with(peers, tag(1), plan.adding(), into, None, Some(heads)).unwrap();
            all.iter()
                .enumerate()
                .filter(|(n, _)| *n != node)
                .for_each(|(n, head)| assert_eq!(*head, [n as u8, 1]));
            assert_eq!(all[node], [9; 2]);
        });
    }
}
