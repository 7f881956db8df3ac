//! The sentence that a measurement opens with: which cut changes most, which least, and by how
//! much.

use backcut_lab::measure::{ALL, Of};

use super::table::{Look, wrapped};

/// What is compared with FF: its noun, and the quantities of distance and direction.
pub struct Compared {
    /// As `the gradient`.
    pub noun: &'static str,
    /// The length of the difference, as a share of FF's.
    pub difference: &'static str,
    /// The cosine with FF's.
    pub cosine: &'static str,
}

/// One sentence, or nothing where there is no other cut than FF.
pub fn sentence(look: Look, compared: &Compared) -> String {
    let Compared { noun, difference, cosine } = compared;
    let cuts = look.cuts(difference).into_iter();
    let cuts = cuts.filter(|cut| matches!(cut, Of::One(name) if name != "FF"));
    let mut found: Vec<(&Of, f64)> =
        cuts.filter_map(|cut| Some((cut, look.value(difference, cut, ALL)?))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable: equal ones stay in the order asked for
    let by = |cut: &Of, share: f64| match look.value(cosine, cut, ALL) {
        _ if share == 0.0 => "not at all".to_owned(),
        None => format!("by {}", percent(share)),
        Some(cosine) => {
            let degrees = cosine.clamp(-1.0, 1.0).acos().to_degrees();
            format!("by {} and {degrees:.0} degrees", percent(share))
        }
    };
    let medians = if look.has_bands() { ", in the median" } else { "" };
    match found.as_slice() {
        [] => String::new(),
        [(cut, share)] => {
            wrapped(&format!("Against FF, {cut} changes {noun} {}{medians}.", by(cut, *share)), 0)
        }
        [(most, first), .., (least, last)] => wrapped(
            &format!(
                "Against FF, {most} changes {noun} most, {}, and {least} least, {}{medians}.",
                by(most, *first),
                by(least, *last)
            ),
            0,
        ),
    }
}

/// A share of FF's length.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let digits = usize::from(percent < 9.95);
    format!("{percent:.digits$}% of its length")
}

#[cfg(test)]
mod tests {
    use backcut_lab::measure::Finding;

    use super::*;

    const GRADIENT: Compared = Compared { noun: "the gradient", difference: "d", cosine: "c" };

    fn findings(rows: &[(&str, &str, f64)]) -> Vec<Finding> {
        let finding = |(quantity, cut, value): &(&str, &str, f64)| Finding {
            quantity: (*quantity).to_owned(),
            of: (*cut).into(),
            part: ALL.to_owned(),
            value: Some(*value),
            note: String::new(),
        };
        rows.iter().map(finding).collect()
    }

    #[test]
    fn the_sentence_names_the_extremes() {
        let rows = [
            ("d", "FF", 0.0),
            ("d", "FD", 0.3601),
            ("d", "F_SG", 0.03),
            ("d", "KF", 1.004),
            ("c", "KF", 0.0),
            ("c", "F_SG", 0.5),
        ];
        assert_eq!(
            sentence(Look(&findings(&rows)), &GRADIENT).replace('\n', " "),
            "Against FF, KF changes the gradient most, by 100% of its length and 90 degrees, and \
             F_SG least, by 3.0% of its length and 60 degrees. "
        );
        assert_eq!(
            sentence(Look(&findings(&rows[..2])), &GRADIENT),
            "Against FF, FD changes the gradient by 36% of its length.\n"
        );
        assert_eq!(sentence(Look(&findings(&rows[..1])), &GRADIENT), "");
        let same = [("d", "F_A1", 0.0)];
        assert_eq!(
            sentence(Look(&findings(&same)), &GRADIENT),
            "Against FF, F_A1 changes the gradient not at all.\n"
        );
    }
}
