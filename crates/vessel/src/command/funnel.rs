//! What became of every row, as a table for people.

use std::fmt::Write as _;

use crate::store::Manifest;
use backcut_text::{counted, thousands};

/// The funnel of a store, from rows to windows.
pub fn table(manifest: &Manifest) -> String {
    let (funnel, counts) = (&manifest.funnel, &manifest.funnel.counts);
    let mut out = String::new();
    let mut block = |head: &str, lines: &[(&str, u64)]| {
        let (first, rest) = lines.split_first().unwrap_or((&("", 0), &[]));
        let _ = writeln!(out, "{head:<9} {:<28} {:>14}", first.0, thousands(first.1 as usize));
        // Rules that took nothing are not worth a line.
        for (name, count) in rest.iter().filter(|(_, count)| *count > 0) {
            let _ = writeln!(out, "{:<9} {name:<28} {:>14}", "", thousands(*count as usize));
        }
    };
    block(
        "rows",
        &[
            ("read", funnel.rows),
            ("- bad", funnel.bad.count),
            ("- not a ship", counts.not_a_ship),
            ("- no position (91, 181)", counts.no_position),
            ("- out of range", counts.out_of_range),
            ("- duplicate", counts.duplicate),
            ("- late", counts.late),
            ("- too fast", counts.too_fast),
            ("kept", counts.kept),
            ("without speed (102.3)", counts.sog_blanked),
            ("without course (360)", counts.cog_blanked),
            ("without heading (511)", counts.heading_blanked),
        ],
    );
    block(
        "places",
        &[
            ("resampled", counts.resampled),
            ("- in long stays", counts.stationary),
            ("- in short segments", counts.short),
            ("stored", counts.stored),
        ],
    );
    block(
        "segments",
        &[
            ("stored", counts.segments),
            ("too short", counts.segments_too_short),
            ("ended by a gap", counts.ended_by_gap),
            ("ended by a jump", counts.ended_by_jump),
            ("ended by a long stay", counts.ended_by_stay),
            ("ended by their length", counts.ended_by_length),
            ("ended with the files", counts.ended_by_files),
        ],
    );
    block("vessels", &[("seen", funnel.vessels), ("stored", funnel.vessels_stored)]);
    block(
        "windows",
        &[
            ("of 16 + 288 steps, separate", funnel.windows),
            ("in which the vessel moves", funnel.windows_moving),
        ],
    );
    for bad in &funnel.bad.examples {
        let _ = writeln!(out, "bad row: {} line {}: {}", bad.file, bad.line, bad.problem);
    }
    let names = manifest.reserved.join(", ");
    let reserved = counted(manifest.reserved.len(), "vessel");
    let _ =
        writeln!(out, "reserved: {reserved}{}{names}", if names.is_empty() { "" } else { ": " });
    let _ = writeln!(out, "hash {}", manifest.hash);
    out
}
