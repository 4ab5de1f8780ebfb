//! A river reach under passing storms: a kinematic wave in 48 cells, enough physics to be worth watching.

const CELLS: usize = 48;
/// Length of a cell in metres.
const LENGTH: f64 = 500.0;
/// Width of the bed in metres.
const WIDTH: f64 = 20.0;
/// Seconds of river time in a step.
pub(super) const STEP: f64 = 60.0;
/// Steps from one storm to the next.
const STORM: u32 = 420;
/// Discharge in m3/s is this, times width, times depth to the power 5/3 (Manning's formula on a slope of 0.1 %).
const CONVEYANCE: f64 = 0.9;
/// The inflow from upstream, in m3/s.
const INFLOW: f64 = 12.0;

/// The state of the reach, of which the simulation publishes records.
pub(super) struct River {
    pub(super) step: u32,
    pub(super) depth: [f32; CELLS],
    pub(super) flow: [f32; CELLS],
    /// Rain on the reach now, in mm/h.
    pub(super) rain: f32,
    /// Water that the scheme has lost or made, in m3: an affair of its own.
    pub(super) residual: f64,
    stored: f64,
}

impl River {
    pub(super) fn new() -> River {
        let depth = (INFLOW / (CONVEYANCE * WIDTH)).powf(0.6);
        let stored = depth * LENGTH * WIDTH * CELLS as f64;
        let (depth, flow) = ([depth as f32; CELLS], [INFLOW as f32; CELLS]);
        River { step: 0, depth, flow, rain: 0.0, residual: 0.0, stored }
    }

    /// Goes on by [`STEP`] seconds.
    pub(super) fn advance(&mut self) {
        self.step += 1;
        let phase = f64::from(self.step % STORM) / f64::from(STORM);
        // The storm lasts a third of its period, and its centre moves down the reach.
        let passed = phase * 3.0;
        let intensity = (4.0 * passed * (1.0 - passed)).max(0.0);
        let centre = passed * CELLS as f64;
        self.rain = (intensity * 40.0) as f32;
        let mut above = INFLOW;
        let mut gained = 0.0;
        for (cell, (depth, flow)) in self.depth.iter_mut().zip(&mut self.flow).enumerate() {
            let distance = (cell as f64 - centre) / 8.0;
            // A catchment a hundred times as wide as the river drains into it.
            let lateral = intensity * 2.2 * (-distance * distance).exp();
            let change = (above + lateral - f64::from(*flow)) * STEP / (LENGTH * WIDTH);
            gained += lateral * STEP;
            above = f64::from(*flow);
            *depth = (f64::from(*depth) + change) as f32;
            *flow = (CONVEYANCE * WIDTH * f64::from(*depth).powf(5.0 / 3.0)) as f32;
        }
        let stored: f64 = self.depth.iter().map(|&depth| f64::from(depth) * LENGTH * WIDTH).sum();
        let expected = self.stored + gained + (INFLOW - above) * STEP;
        self.residual += stored - expected;
        self.stored = stored;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storms_pass_and_water_is_kept() {
        let mut river = River::new();
        let mut highest = 0.0f32;
        for _ in 0..3 * STORM {
            river.advance();
            highest = river.depth.iter().copied().fold(highest, f32::max);
            assert!(river.depth.iter().all(|depth| (0.1..10.0).contains(depth)), "{:?}", river.depth);
        }
        assert!(highest > 1.2, "a storm raises the river: {highest}");
        assert!(river.residual.abs() < 500.0, "{}", river.residual);
    }
}
