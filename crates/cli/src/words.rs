//! Counts for people.

/// `1 unit`, `2 units`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// A count with thousands set apart.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_singular() {
        let words = [counted(1, "source"), counted(0, "source"), counted(1200, "source")];
        assert_eq!(words, ["1 source", "0 sources", "1,200 sources"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [7, 999, 1000, 94_324, 1_234_567].map(thousands),
            ["7", "999", "1,000", "94,324", "1,234,567"]
        );
    }
}
