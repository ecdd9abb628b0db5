//! [`Avahi`]: discovery by this machine's avahi-daemon, for machines on which it owns multicast DNS.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;
use zeroconf::prelude::{TEventLoop, TMdnsBrowser, TMdnsService, TTxtRecord};
use zeroconf::{BrowserEvent, MdnsBrowser, MdnsService, ServiceType, TxtRecord};

use super::record::Record;
use super::{Announcement, Candidate, Discovery, DiscoveryError, Running};

/// How long one wait for the daemon's news lasts; a stop waits as long.
const POLL: Duration = Duration::from_millis(100);
/// How long to wait before asking a daemon that went away whether it is back.
const AGAIN: Duration = Duration::from_secs(5);
const START: Duration = Duration::from_secs(5);

/// Discovery by avahi-daemon. It may go away and come back: then the node is announced anew.
#[derive(Clone, Debug, Default)]
pub struct Avahi;

impl Discovery for Avahi {
    fn name(&self) -> &'static str {
        "avahi"
    }

    fn start(
        self: Box<Self>,
        me: Announcement,
        found: mpsc::Sender<Candidate>,
    ) -> Result<Running, DiscoveryError> {
        let (stop, stopped) = sync_channel(0);
        let (report, started) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("dae-avahi".to_owned())
            .spawn(move || serve(&me, &found, &stopped, &report))
            .map_err(failed)?;
        match started.recv_timeout(START) {
            Ok(Ok(())) => Ok(Running::new("avahi", move || {
                // Ends the wait of the thread, which says goodbye.
                drop::<SyncSender<()>>(stop);
                let _ = thread.join();
            })),
            Ok(Err(why)) => Err(failed(why)),
            Err(_) => Err(failed(format!("no answer within {} s", START.as_secs()))),
        }
    }
}

/// Announces and browses until `stopped`, anew whenever the daemon went away. The library's parts live and die on
/// this thread: they are called back while it polls.
fn serve(
    me: &Announcement,
    found: &mpsc::Sender<Candidate>,
    stopped: &Receiver<()>,
    report: &SyncSender<Result<(), String>>,
) {
    let mut first = true;
    loop {
        let served = session(me, found, stopped, || {
            let _ = report.try_send(Ok(()));
        });
        match served {
            Ok(()) => return,
            Err(why) if first => {
                // If it was the first thing to happen, the start has failed; else nobody reads it.
                if report.try_send(Err(why)).is_ok() {
                    return;
                }
            }
            Err(_) => {}
        }
        first = false;
        if stopped.recv_timeout(AGAIN) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// `Ok` if it was stopped.
fn session(
    me: &Announcement,
    found: &mpsc::Sender<Candidate>,
    stopped: &Receiver<()>,
    started: impl FnOnce(),
) -> Result<(), String> {
    let record = Arc::new(Record::of(me));
    let kind = || ServiceType::new("dae", "tcp").map_err(text);
    // Whatever goes wrong within a callback ends the session.
    let (fault, faults) = sync_channel::<String>(1);

    let mut service = MdnsService::new(kind()?, me.port);
    service.set_name(&record.instance);
    let mut txt = TxtRecord::new();
    for (key, value) in &record.txt {
        txt.insert(key, value).map_err(text)?;
    }
    service.set_txt_record(txt);
    let refused = fault.clone();
    service.set_registered_callback(Box::new(move |registered, _| {
        if let Err(error) = registered {
            let _ = refused.try_send(error.to_string());
        }
    }));
    let announcing = service.register().map_err(text)?;

    let mut browser = MdnsBrowser::new(kind()?);
    let found = found.clone();
    browser.set_service_callback(Box::new(move |event, _| match event {
        Ok(BrowserEvent::Add(service)) => {
            let txt = |key: &str| service.txt().as_ref().and_then(|txt| txt.get(key));
            let address = service.address().parse();
            let candidate = record.candidate("avahi", service.name(), txt, *service.port(), address);
            if let Some(candidate) = candidate {
                // A queue that is full drops it.
                let _ = found.try_send(candidate);
            }
        }
        // Gone from the records is not gone.
        Ok(BrowserEvent::Remove(_)) => {}
        // One node that cannot be resolved does not matter; the other errors mean that the daemon went away.
        Err(error) if error.to_string().contains("failed to resolve") => {}
        Err(error) => {
            let _ = fault.try_send(error.to_string());
        }
    }));
    let browsing = browser.browse_services().map_err(text)?;
    started();
    loop {
        announcing.poll(Duration::ZERO).map_err(text)?;
        browsing.poll(POLL).map_err(text)?;
        if let Ok(why) = faults.try_recv() {
            return Err(why);
        }
        if stopped.recv_timeout(Duration::ZERO) != Err(RecvTimeoutError::Timeout) {
            return Ok(());
        }
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn failed(why: impl ToString) -> DiscoveryError {
    DiscoveryError::Avahi { why: why.to_string() }
}
