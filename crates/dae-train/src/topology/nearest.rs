//! The known name that was probably meant.

/// The candidate with the fewest typing errors from `word`, if they are few for its length.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody types a name this long by mistake, and the distance costs the product of both lengths.
    if word.len() > 64 {
        return None;
    }
    let near = |c: &&str| 1 + c.len().min(word.len()) / 4;
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&word, c), c))
        .filter(|(distance, c)| *distance <= near(c))
        .min()
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant_and_nothing_far_away() {
        let words = ["steps", "seed", "stall_timeout_s"];
        assert_eq!(nearest("stpes", words), Some("steps"));
        assert_eq!(nearest("Seed", words), Some("seed"));
        assert_eq!(nearest("stall_timeout", words), Some("stall_timeout_s"));
        assert_eq!(nearest("momentum", words), None);
        assert_eq!(nearest(&"s".repeat(1 << 20), words), None);
    }
}
