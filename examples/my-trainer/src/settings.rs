//! Numbers from the tables of a topology: a name nobody reads is a mistake, and so is a value that is no number.

use std::fmt::Display;
use std::str::FromStr;

/// Whether every name that was given is one that is read.
pub fn known<'a>(given: impl Iterator<Item = &'a String>, names: &[&str]) -> Result<(), String> {
    let unknown = |name: &&String| !names.contains(&name.as_str());
    match { given }.find(unknown) {
        Some(name) => Err(format!("there is no option `{name}`; the options are {}", names.join(", "))),
        None => Ok(()),
    }
}

/// A number, or its default where none was given.
pub fn number<T: FromStr>(given: Option<impl Display>, name: &str, default: T) -> Result<T, String> {
    let Some(value) = given else { return Ok(default) };
    value.to_string().parse().map_err(|_| format!("`{name}` is {value}, which is not a number that fits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_anything_else_is_told() {
        assert_eq!(number(Some(64), "hidden", 256), Ok(64));
        assert_eq!(number(None::<i64>, "hidden", 256), Ok(256));
        assert_eq!(number(Some(1), "sparsity", 0.5), Ok(1.0));
        assert!(number(Some(-1), "patience", 8u64).unwrap_err().contains("`patience` is -1"));
        assert!(number(Some("many"), "hidden", 256).is_err());
    }

    #[test]
    fn a_misspelt_name_is_told() {
        let given = ["hiden".to_owned()];
        let told = known(given.iter(), &["hidden", "sparsity"]).unwrap_err();
        assert_eq!(told, "there is no option `hiden`; the options are hidden, sparsity");
        assert_eq!(known([].iter(), &["hidden"]), Ok(()));
    }
}
