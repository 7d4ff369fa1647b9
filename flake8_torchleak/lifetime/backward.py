"""What becomes of graphs by `backward()`: whose they are, which of them stay, and which loops go on step by step."""

from __future__ import annotations

from flake8_torchleak.lifetime.frames import IN_VAIN, TRAINING
from flake8_torchleak.lifetime.run import Part
from flake8_torchleak.lifetime.values import Atom, Graph, Kind, Obj, Value


class Backward(Part):
    """Differentiates values."""

    def differentiate(self, value: Value, retained: bool | None = False) -> None:
        """A value, or what it holds, is differentiated. retained: its graph stays for another time; None: perhaps."""
        run, seen = self.run, self.run.seen
        for atom, holder in run.within(value):
            if atom.kind is Kind.NUMBER:
                continue
            seen.surprises += atom.graph is not Graph.YES
            seen.prove(atom.site)
            seen.roots.add(atom.site)
            made = seen.history(atom) | {site for _, site in atom.past} | {atom.site}
            seen.spend(made, run.followed)
            seen.prove_network(made)
            if not retained:
                seen.freed |= made
            if retained is not False or run.is_conditional:
                seen.perhaps_kept |= made
            self._read(atom, holder)
            self._step(atom.born)

    def read(self, value: Value) -> None:
        """A value may be differentiated: who keeps it does so for that."""
        for atom, holder in self.run.within(value):
            self._read(atom, holder)

    def _read(self, atom: Atom, holder: Obj | None) -> None:
        run = self.run
        read = atom.via
        if holder is not None and holder.node is not None:
            read |= {holder.node}
        run.seen.read_back |= read
        run.seen.read_later.update(site for site in read if not run.is_new(site))

    def _step(self, since: int) -> None:
        """It makes steps of the loops around that made what is differentiated."""
        for loop in self.run.loops:
            if loop.step in ("", IN_VAIN) and not loop.small and since >= loop.iteration:
                self.run.take_for_step(loop, TRAINING)
            loop.trains = True
            self.run.seen.trained.add(loop.node)
