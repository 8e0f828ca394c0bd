//! Power as it goes, for who listens: the mean of each package, jiffy for jiffy.

use super::model::PmModel;
use super::state::Pm;
use crate::engine::Sim;
use wakelab_events::sim::{Event, Sink};

/// What was told of last.
#[derive(Debug, Default)]
pub struct Told {
    at: u64,
    /// By package, the energy since measuring began, fJ.
    fj: Vec<u128>,
}

impl Told {
    /// The accounts begin anew.
    pub fn restart(&mut self) {
        self.fj.fill(0);
    }
}

impl Pm {
    /// By package, the energy of its cores, its clusters and itself up to now, fJ.
    fn package_fj(&mut self, model: &PmModel, now: u64) -> Vec<u128> {
        let mut fj = vec![0; model.nr_packages];
        let cores = self.cores.iter_mut().zip(model.cores.iter().map(|core| core.cpus[0]));
        let shared = self.shared.iter_mut().map(|(account, _)| account);
        let shared = shared.zip(model.shared.iter().map(|domain| domain.cpus[0]));
        for (account, cpu) in cores.chain(shared) {
            account.settle(now);
            fj[model.package_of[cpu as usize]] += account.total_fj();
        }
        fj
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Tells what each package has spent since the last time.
    pub fn tell_power(&mut self) {
        if !S::INPUTS {
            return;
        }
        let (Some(model), now) = (self.sys.pm_model(), self.sys.now) else { return };
        let Some(pm) = &mut self.sys.pm else { return };
        let since = pm.told.at;
        if pm.cores.is_empty() || now == since {
            return;
        }
        let fj = pm.package_fj(model, now);
        let before = std::mem::replace(&mut pm.told, Told { at: now, fj: fj.clone() }).fj;
        for (package, all) in fj.into_iter().enumerate() {
            let spent = all - before.get(package).unwrap_or(&0);
            let uw = (spent / u128::from(now - since)) as u64;
            self.tell(|_| Event::Power { package: package as u32, since, uw });
        }
    }
}
