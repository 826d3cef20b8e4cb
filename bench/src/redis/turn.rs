//! One turn of one system: all keys while they are new, then all keys when they are known.

use tollgate_fixtures::Server;

use crate::client::Client;
use crate::redis::client::{self, Pass};
use crate::redis::info;
use crate::redis::plan::Plan;
use crate::rounds::Sample;

pub(crate) struct Turn {
    pub(crate) new: Measurement,
    pub(crate) known: Measurement,
}

/// The measurements of a number of checks.
pub(crate) struct Measurement {
    pass: Pass,
    redis_seconds: f64,
}

impl Turn {
    pub(crate) fn take(client: &mut Client, server: &Server, plan: &Plan) -> anyhow::Result<Turn> {
        flush(server)?;
        client::pass(client, 0, plan.warm_up)?;
        flush(server)?;
        // The file has all keys in one order, and then in another.
        let new = Measurement::measure(client, server, 0, plan.keys)?;
        let known = Measurement::measure(client, server, plan.keys, plan.keys)?;
        Ok(Turn { new, known })
    }

    pub(crate) fn sample(&self, value: fn(&Turn) -> f64) -> Sample {
        let allowed = self.sum(|part| part.pass.allowed as f64) / self.checks();
        Sample { value: value(self), allowed: Some(allowed) }
    }

    pub(crate) fn checks_per_second(&self) -> f64 {
        self.checks() / self.sum(|part| part.pass.seconds)
    }

    pub(crate) fn client_micros(&self) -> f64 {
        self.sum(|part| part.pass.cpu_seconds) * 1e6 / self.checks()
    }

    pub(crate) fn redis_micros(&self) -> f64 {
        self.sum(|part| part.redis_seconds) * 1e6 / self.checks()
    }

    fn checks(&self) -> f64 {
        self.sum(|part| part.pass.checks as f64)
    }

    fn sum(&self, of: impl Fn(&Measurement) -> f64) -> f64 {
        of(&self.new) + of(&self.known)
    }
}

impl Measurement {
    fn measure(
        client: &mut Client,
        server: &Server,
        from: usize,
        count: usize,
    ) -> anyhow::Result<Measurement> {
        let before = info::cpu_seconds(server)?;
        let pass = client::pass(client, from, count)?;
        Ok(Measurement { pass, redis_seconds: info::cpu_seconds(server)? - before })
    }

    pub(crate) fn redis_micros(&self) -> f64 {
        self.redis_seconds * 1e6 / self.pass.checks as f64
    }
}

/// Deletes all keys, not in the background, where it would slow down the next measurement.
fn flush(server: &Server) -> anyhow::Result<()> {
    let reply = server.cli(&["flushall", "sync"]);
    anyhow::ensure!(reply == "OK", "FLUSHALL: {reply}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_the_sum_of_both_parts() {
        let part = |seconds: f64| Measurement {
            pass: Pass { checks: 1000, allowed: 900, seconds, cpu_seconds: seconds / 2.0 },
            redis_seconds: seconds / 4.0,
        };
        let turn = Turn { new: part(0.016), known: part(0.048) };
        assert_eq!(turn.checks_per_second(), 31_250.0);
        assert_eq!((turn.client_micros(), turn.redis_micros()), (16.0, 8.0));
        assert_eq!((turn.new.redis_micros(), turn.known.redis_micros()), (4.0, 12.0));
        assert_eq!(turn.sample(Turn::redis_micros).allowed, Some(0.9));
    }
}
