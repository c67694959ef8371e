"""See the next weeks before they happen: the real kernel and the real SQL under a virtual clock, on a scratch database.

`simulator.py` is what the edges hold; `simulate.py` is one run from snapshot to counts; `crowd.py` draws the people;
`workflow.py`, `sequence.py` and `campaign.py` say how each kind of thing is read and started. Nothing leaves: providers
only record, and the live database is only read.
"""

from tidings.domain.simulation import Scenario
from tidings.simulation.simulate import Subject, simulate
from tidings.simulation.simulator import Simulator
from tidings.views.simulations import Simulation

__all__ = ["Scenario", "Simulation", "Simulator", "Subject", "simulate"]
