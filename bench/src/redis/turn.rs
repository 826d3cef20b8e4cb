//! One turn of one system: all keys when they are new, and all keys when they are known.

use tollgate_fixtures::Server;

use crate::redis::client::{Client, Pass};
use crate::redis::info;
use crate::redis::plan::Plan;
use crate::rounds::Sample;

pub(crate) struct Turn {
    pub(crate) new: Stretch,
    pub(crate) known: Stretch,
}

/// What a number of checks took.
pub(crate) struct Stretch {
    pass: Pass,
    redis_seconds: f64,
}

impl Turn {
    pub(crate) fn take(client: &mut Client, server: &Server, plan: &Plan) -> anyhow::Result<Turn> {
        flush(server)?;
        client.pass(0, plan.warm_up)?;
        flush(server)?;
        // The file has all keys in one order, and then in another.
        let new = Stretch::measure(client, server, 0, plan.keys)?;
        let known = Stretch::measure(client, server, plan.keys, plan.keys)?;
        Ok(Turn { new, known })
    }

    pub(crate) fn sample(&self, value: fn(&Turn) -> f64) -> Sample {
        let allowed = self.sum(|stretch| stretch.pass.allowed as f64) / self.checks();
        Sample { value: value(self), allowed: Some(allowed) }
    }

    pub(crate) fn checks_per_second(&self) -> f64 {
        self.checks() / self.sum(|stretch| stretch.pass.seconds)
    }

    pub(crate) fn client_micros(&self) -> f64 {
        self.sum(|stretch| stretch.pass.cpu_seconds) * 1e6 / self.checks()
    }

    pub(crate) fn redis_micros(&self) -> f64 {
        self.sum(|stretch| stretch.redis_seconds) * 1e6 / self.checks()
    }

    fn checks(&self) -> f64 {
        self.sum(|stretch| stretch.pass.checks as f64)
    }

    fn sum(&self, of: impl Fn(&Stretch) -> f64) -> f64 {
        of(&self.new) + of(&self.known)
    }
}

impl Stretch {
    fn measure(
        client: &mut Client,
        server: &Server,
        from: usize,
        count: usize,
    ) -> anyhow::Result<Stretch> {
        let before = info::cpu_seconds(server)?;
        let pass = client.pass(from, count)?;
        Ok(Stretch { pass, redis_seconds: info::cpu_seconds(server)? - before })
    }

    pub(crate) fn redis_micros(&self) -> f64 {
        self.redis_seconds * 1e6 / self.pass.checks as f64
    }
}

/// At once and not in the background, where it would slow what is measured next.
fn flush(server: &Server) -> anyhow::Result<()> {
    let answer = server.cli(&["flushall", "sync"]);
    anyhow::ensure!(answer == "OK", "FLUSHALL: {answer}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_both_its_stretches() {
        let stretch = |seconds: f64| Stretch {
            pass: Pass { checks: 1000, allowed: 900, seconds, cpu_seconds: seconds / 2.0 },
            redis_seconds: seconds / 4.0,
        };
        let turn = Turn { new: stretch(0.016), known: stretch(0.048) };
        assert_eq!(turn.checks_per_second(), 31_250.0);
        assert_eq!((turn.client_micros(), turn.redis_micros()), (16.0, 8.0));
        assert_eq!((turn.new.redis_micros(), turn.known.redis_micros()), (4.0, 12.0));
        assert_eq!(turn.sample(Turn::redis_micros).allowed, Some(0.9));
    }
}
