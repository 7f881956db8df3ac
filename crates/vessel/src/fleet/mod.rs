//! A synthetic fleet: ships on routes that nobody sailed, for tests and for who has no data.
//!
//! Liners, research ships and fishing vessels go from waypoint to waypoint, turn with a limited
//! rate, change speed, hold station or drift, and report now and then, with the faults that real
//! files have. Their reports go through the same cleaning as those of a file. Everything follows
//! from the seed, by random streams and functions with the same bits on every machine.

mod reports;
mod ship;

use std::io::{self, Write};
use std::path::Path;

use backcut_files::Utc;
use backcut_kernels::random::Stream;
use serde::{Deserialize, Serialize};

use crate::clean::{Cleaner, Rules, VESSELS};
use crate::error::AisError;
use crate::report::{Naming, Report};
use crate::store::{Funnel, Manifest, StoreWriter};
use crate::tracks::{Reserved, Tracks};

/// 2024-01-01, where every fleet sets out.
const BEGIN: i64 = 1_704_067_200;
/// The first ship's MMSI; a land that has no ships at sea.
const FIRST_MMSI: u32 = 700_000_000;
/// More would be no test.
const MOST_SHIPS: u32 = 1_000_000;

/// Which fleet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fleet {
    /// How many ships.
    pub ships: u32,
    /// For how many days.
    pub days: u32,
    /// What everything follows from.
    pub seed: u64,
}

impl Default for Fleet {
    fn default() -> Self {
        Self { ships: 48, days: 28, seed: 1 }
    }
}

impl Fleet {
    /// Checks that the fleet can sail.
    pub fn check(&self) -> Result<(), AisError> {
        let wrong = |setting, value: u32, problem| {
            Err(AisError::Setting { setting, value: value.to_string(), problem })
        };
        if !(1..=MOST_SHIPS).contains(&self.ships) {
            return wrong("ships", self.ships, "1 to 1000000 is possible");
        }
        if !(1..=3650).contains(&self.days) {
            return wrong("days", self.days, "1 to 3650 is possible");
        }
        Ok(())
    }

    /// A ship's name.
    pub fn mmsi(&self, ship: u32) -> String {
        (FIRST_MMSI + ship).to_string()
    }

    /// A ship's reports, in the order of time.
    pub fn reports(&self, ship: u32) -> impl Iterator<Item = Report> + use<> {
        let stream = |name| Stream::new(self.seed, name).at(0, u64::from(ship));
        let ship = ship::Ship::new(BEGIN, stream("fleet: ship"));
        let end = BEGIN + i64::from(self.days) * 86_400;
        reports::Reports::new(ship, stream("fleet: reports"), end)
    }

    /// The fleet's tracks, cleaned.
    pub fn tracks(
        &self,
        rules: &Rules,
        reserve: usize,
        reserved: Reserved,
    ) -> Result<Tracks, AisError> {
        let cleaner = self.clean(rules, |_| Ok(()))?;
        Tracks::of(cleaner.finish().1, rules.step_seconds, reserve, reserved)
    }

    /// Writes the fleet's tracks as a store.
    pub fn write(&self, out: &Path, rules: &Rules, reserve: usize) -> Result<Manifest, AisError> {
        let mut store = StoreWriter::create(out, rules)?;
        let cleaner = self
            .clean(rules, |cleaner| cleaner.ended().try_for_each(|segment| store.add(segment)))?;
        let funnel = Funnel { rows: cleaner.counts().read, ..Funnel::default() };
        store.complete(cleaner, reserve, funnel, Vec::new())
    }

    fn clean(
        &self,
        rules: &Rules,
        mut each_ship: impl FnMut(&mut Cleaner) -> Result<(), AisError>,
    ) -> Result<Cleaner, AisError> {
        self.check()?;
        let mut cleaner = Cleaner::new(rules.clone().check()?, VESSELS);
        for ship in 0..self.ships {
            let name = self.mmsi(ship);
            for report in self.reports(ship) {
                cleaner.report(&name, Naming::Mmsi, &report)?;
            }
            each_ship(&mut cleaner)?;
        }
        Ok(cleaner)
    }

    /// Writes the reports as MarineCadastre would, in the order of time across ships.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName,IMO,CallSign,VesselType,Status,\
             Length,Width,Draft,Cargo,TransceiverClass"
        )?;
        let mut rows: Vec<(i64, u32, Report)> = (0..self.ships)
            .flat_map(|ship| self.reports(ship).map(move |report| (report.time, ship, report)))
            .collect();
        // Stable: duplicates stay in their order.
        rows.sort_by_key(|row| (row.0, row.1));
        for (time, ship, report) in rows {
            let time = Utc::from_unix(time as u64).map(|utc| utc.to_string()).unwrap_or_default();
            let number = |value: Option<f64>| value.map(|v| format!("{v:.1}")).unwrap_or_default();
            writeln!(
                out,
                "{},{},{:.5},{:.5},{},{},{},SHIP {ship},IMO{:07},S{ship},70,0,120,20,6.5,70,A",
                self.mmsi(ship),
                time.trim_end_matches('Z'),
                report.lat,
                report.lon,
                number(report.sog),
                number(report.cog),
                number(report.heading),
                9_000_000 + ship % 999_999,
            )?;
        }
        Ok(())
    }
}
