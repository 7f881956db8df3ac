//! A program as it was written down: what it does, and nothing of where it lies or how fast it
//! runs.

use std::fmt::Write as _;

use crate::compile::program::Program;
use crate::trace::{Named, Node};

/// What a step does, in three parts that can be told apart.
#[derive(Clone, PartialEq, Debug)]
pub struct Listing {
    /// Instructions in order with what they read and their widths, and everything that has a name.
    pub instructions: String,
    /// The numbers in instructions and bounds, in the order of the text, where each is a `#`.
    pub constants: Vec<f64>,
    /// Names, shapes and starts of the parameters.
    pub parameters: String,
}

impl Program {
    /// The program written out. Equal listings roll and differentiate to the same bits.
    pub fn listing(&self) -> Listing {
        let (mut instructions, mut constants) = (String::new(), Vec::new());
        let mut line = |text: String| {
            for token in text.split_inclusive([' ', ',', '[', ']', '(', ')']) {
                let word = token.trim_end_matches([' ', ',', '[', ']', '(', ')']);
                // `Debug` writes a float with a point, an exponent or in letters, so it is no
                // integer.
                match word.parse::<f64>() {
                    Ok(number) if word.parse::<i128>().is_err() => {
                        constants.push(number);
                        instructions.push('#');
                        instructions.push_str(&token[word.len()..]);
                    }
                    _ => instructions.push_str(token),
                }
            }
            instructions.push('\n');
        };
        for nodes in [self.nodes(), self.condition_nodes()] {
            for Node { op, width, .. } in nodes {
                line(format!("{op:?} {width}"));
            }
            line("end".to_owned());
        }
        let caches: Vec<_> = self.caches.iter().map(|c| (&c.name, c.site)).collect();
        let bounds: Vec<f64> = self.bounds.iter().map(|b| b.limit).collect();
        let names = |list: &[Named]| -> Vec<_> {
            list.iter().map(|named| (named.name.clone(), named.site)).collect()
        };
        line(format!("{:?} {:?}", names(&self.inputs), names(&self.condition_inputs)));
        line(format!("{:?} {:?}", self.states, self.registers));
        line(format!("{caches:?} {:?} {:?}", names(&self.taps), names(&self.points)));
        line(format!("{:?} {bounds:?}", self.bounds.iter().map(|b| b.site).collect::<Vec<_>>()));
        line(format!("{} {:?}", self.tokens, self.loss));
        let mut parameters = String::new();
        for p in self.layout.parameters() {
            let _ = writeln!(parameters, "{:?} {} {} {:?}", p.name, p.rows, p.cols, p.init);
        }
        Listing { instructions, constants, parameters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;

    fn listing(scale: f64, is_square: bool, from: usize) -> Listing {
        let t = Trace::new();
        let x = t.state("x", 3);
        let bent = if is_square { x.square() } else { x.abs() };
        t.next("x", bent * scale);
        t.loss(t.linear("policy", bent.slice(from, 2), 1));
        t.compile().unwrap().listing()
    }

    #[test]
    fn what_differs_stands_in_its_own_part() {
        let one = listing(0.25, true, 0);
        assert_eq!(one, listing(0.25, true, 0));
        let scaled = listing(1e-9, true, 0);
        assert_eq!(scaled.instructions, one.instructions);
        assert_ne!(scaled.constants, one.constants);
        for other in [listing(0.25, false, 0), listing(0.25, true, 1)] {
            assert_ne!(other.instructions, one.instructions);
            assert_eq!((&other.constants, &other.parameters), (&one.constants, &one.parameters));
        }
        assert!(one.parameters.starts_with("\"policy.weight\" 2 1 Uniform"), "{}", one.parameters);
    }
}
