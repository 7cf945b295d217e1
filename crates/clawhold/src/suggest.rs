//! Did you mean: the nearest of the names that there are.

/// Returns the name that is nearest to `typed`, if one is near enough to be meant.
pub(crate) fn nearest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = typed.to_lowercase();
    let far = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    let (distance, name) = names.into_iter().map(|name| (far(name), name)).min()?;
    let near = distance <= 1.max(typed.chars().count() / 3);
    near.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_meant_and_another_word_is_not() {
        let names = ["indexer", "mailer", "billing"];
        assert_eq!(nearest("indxer", names), Some("indexer"));
        assert_eq!(nearest("Indexer", names), Some("indexer"));
        assert_eq!(nearest("mialer", names), Some("mailer"));
        assert_eq!(nearest("reports", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
