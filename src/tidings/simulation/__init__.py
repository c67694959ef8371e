"""See the next weeks before they happen: the real kernel and the real SQL under a virtual clock, on a scratch database.

`simulator.py` is what the edges hold; `simulate.py` is one run from snapshot to findings; `crowd.py` draws the people;
`workflow.py`, `sequence.py` and `campaign.py` say how each kind of thing is read and started. Nothing leaves: providers
only record, and the live database is only read.
"""

from tidings.domain.simulation import Findings, Scenario, Simulated
from tidings.simulation.simulate import Subject, simulate
from tidings.simulation.simulator import Simulator

__all__ = ["Findings", "Scenario", "Simulated", "Simulator", "Subject", "simulate"]
