"""One editor: what is open in it, what was found there, and what is to be checked next. Lives in the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from lsprotocol import types

from flake8_torchleak.finding import Finding
from flake8_torchleak.model.reading import concerns
from flake8_torchleak.server.checking import Checker
from flake8_torchleak.server.collecting import Tidier
from flake8_torchleak.server.diagnostics import ByUri, Shown, diagnostics, moved
from flake8_torchleak.server.documents import Documents, View, path_of
from flake8_torchleak.server.known import Found, Known, give
from flake8_torchleak.server.policies import Wishes
from flake8_torchleak.server.worker import Urgency, Worker
from flake8_torchleak.source import SourceError
from flake8_torchleak.wording import trouble

T = TypeVar("T")

_MOST_SAID = 1000
"""Different messages that are remembered, so that each is shown once."""
_AHEAD = 0.1
"""Seconds before somebody has not typed for long enough: what is checked then is shown if nothing more is typed."""
_LONGER = 1.5
"""Times what the last check of a text took that the next one may take: it is begun so much earlier, if that is more."""
_LOOK_EVERY = 2.0
"""Seconds between looks at the disk, for editors that do not say what changes there."""


class Editor(Protocol):
    """What the session says."""

    def publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        """Show what is found under a URI, in the place of what was."""

    def say(self, text: str) -> None:
        """Show a message."""


class Session:
    """See above."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._loop = asyncio.get_running_loop()
        self._said: set[str] = set()
        self.worker = Worker(Tidier().tidy)
        self.checker = Checker(self._tell)
        self.documents = Documents()
        self.known: dict[str, Known] = {}
        self.wishes = Wishes()
        self._terms: tuple[list[str], dict[str, Wishes]] | None = None
        self.can_show = Shown()
        self.everything = False
        """Whether files that are not open are shown, too: since somebody asked for it."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[None]] = set()
        self._watch: asyncio.TimerHandle | None = None

    # -- What happens --------------------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """Something is to be checked at once."""
        self.schedule(uri, 0)

    def edited(self, uri: str) -> None:
        """Somebody types."""
        if self.wishes.run == "type":
            self.schedule(uri, self.wishes.debounce)

    def saved(self, uri: str) -> None:
        """What is on disk counts for others now, settings included."""
        self.schedule(uri, 0)
        self.look()

    def closed(self, uri: str) -> None:
        """What is on disk is what counts, and is shown only where all files are."""
        self._stop(uri)
        if not self.everything or not path_of(uri):
            self._clear(uri)
        self.look()

    def settings_changed(self, folders: list[str], wishes: dict[str, Wishes]) -> None:
        """The editor has other settings, or other folders."""
        if (folders, wishes) == self._terms:
            return
        self._terms = folders, wishes
        self.wishes = wishes.get("", self.wishes)
        uris = {*self.known, *self.documents.uris()}
        self._run(Urgency.ASKED, lambda: self.checker.policies.set(folders, wishes), lambda _: self._all(uris))

    def look(self) -> None:
        """See what has changed on disk, or was closed; check what that concerns."""
        texts = dict(self.documents.texts())

        def work() -> bool:
            self._show_texts(texts)
            changed, settings = self.checker.look()
            self._hand(changed)
            return settings

        def then(settings: bool) -> None:
            if settings:
                self._all({*self.known, *self.documents.uris()})

        self._run(Urgency.TYPED, work, then)

    def watch(self) -> None:
        """From now on, look now and then, while something is shown."""
        if self.known:
            self.look()
        self._watch = self._loop.call_later(_LOOK_EVERY, self.watch)

    def schedule(self, uri: str, wait: float, urgency: Urgency = Urgency.TYPED) -> None:
        """Show what is found after `wait` seconds, instead of what was to be shown of it before.

        What somebody types in is checked while he still may go on typing; what rests on it is not.
        """
        self._stop(uri)
        ahead = min(wait, self._ahead(uri)) if urgency <= Urgency.TYPED else 0
        due = self._loop.time() + wait
        self._timers[uri] = self._loop.call_later(wait - ahead, self._start, uri, urgency, due)

    def _ahead(self, uri: str) -> float:
        """How long before it is due something is checked: by far most files are done long before."""
        known = self.known.get(uri)
        return max(_AHEAD, _LONGER * known.took if known is not None else 0)

    def end(self) -> None:
        """Do nothing more."""
        for uri in [*self._timers, *self._tasks]:
            self._stop(uri)
        if self._watch is not None:
            self._watch.cancel()
        for each in list(self._others):
            each.cancel()
        self.worker.end()

    # -- What is done --------------------------------------------------------------------------------------

    async def do(self, urgency: Urgency, work: Callable[[], T]) -> T:
        """What some work in the worker's thread gives."""
        return await asyncio.wrap_future(self.worker.submit(urgency, work))

    def view(self, uri: str) -> View | None:
        """What is open under a URI, if it can be read."""
        try:
            return self.documents.view(self.documents.home(uri))
        except SourceError as error:
            self.tell(f"{path_of(uri) or uri}: {error}")
            return None

    async def check(self, uri: str, urgency: Urgency, due: float = 0) -> None:
        """Check what is under a URI, show what is found, not before it is due, and check what that concerns."""
        view = self.view(uri)
        if view is None and uri in self.documents.uris():
            return
        texts, known = dict(self.documents.texts()), self.known.setdefault(uri, Known())

        last, last_text = known.findings, known.text
        early: asyncio.Future[Found] = self._loop.create_future()

        def work() -> Found:
            begun = time.perf_counter()
            took: list[float] = []
            self._show_texts(texts, uri)
            at = view or View(uri, self.checker.overlay.lines_of(path_of(uri)), self.documents.encoding)

            def shown(findings: list[Finding]) -> ByUri:
                took.append(time.perf_counter() - begun)
                return diagnostics(at, findings, self.can_show, self.checker.overlay.lines_of)

            def tell(findings: list[Finding]) -> None:
                found = Found(at, findings, (), shown(findings))
                self._loop.call_soon_threadsafe(give, early, found)

            checked = self.checker.check(at, tell)
            if checked.findings is None:
                return Found(at, None, checked.asked, shown(moved(last, last_text, at.text)))
            found = shown(checked.findings)
            known.took = took[0]  # one that does not parse is done at once
            return Found(at, checked.findings, checked.asked, found)

        job = asyncio.wrap_future(self.worker.submit(urgency, work))
        try:
            await asyncio.wait({job, early}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(max(due - self._loop.time(), 0))
            told = None if job.done() else early.result()
            if told is not None and self._stands(view):
                self._take(known, told)
            found = await job
        finally:
            job.cancel()
        known.asked = found.asked
        if self._stands(view) and (told is None or told.shown != found.shown):
            self._take(known, found)

    def _stands(self, view: View | None) -> bool:
        """Whether a text is as it was when it began to be checked: if not, somebody else checks it."""
        now = self.view(view.uri) if view is not None else None
        return view is None or (now is not None and now.text == view.text)

    def _take(self, known: Known, found: Found) -> None:
        """Show what was found, and remember it."""
        if found.findings is not None:
            known.text, known.findings = found.at.text, found.findings
        self._show(known, found.shown, found.at.version)

    def _show_texts(self, texts: dict[str, str], but: str = "") -> None:
        self._hand(self.checker.show(texts), but)

    def _hand(self, changed: frozenset[str], but: str = "") -> None:
        """From the worker's thread: what has changed is followed even if nobody waits for the work any more."""
        if changed:
            self._loop.call_soon_threadsafe(self._follow, changed, but)

    def _show(self, known: Known, found: ByUri, version: int | None) -> None:
        for uri in known.shown - set(found):
            self._editor.publish(uri, None, [])
        for uri, each in found.items():
            self._editor.publish(uri, version, each)
        known.shown = set(found)

    def _clear(self, uri: str) -> None:
        for each in self.known.pop(uri, Known()).shown:
            self._editor.publish(each, None, [])

    def _all(self, uris: set[str]) -> None:
        for uri in uris:
            self.schedule(uri, 0, Urgency.FOLLOWS)

    def _follow(self, changed: frozenset[str], but: str) -> None:
        """Check what rests on something that has changed."""
        for uri, known in list(self.known.items()):
            is_open = uri in self.documents.uris()
            own = not is_open and path_of(uri) in changed
            if uri != but and (own or concerns(known.asked, changed)):
                self.schedule(uri, self.wishes.debounce if but else 0, Urgency.FOLLOWS)

    # -- Timers, tasks, messages ---------------------------------------------------------------------------

    def _start(self, uri: str, urgency: Urgency, due: float) -> None:
        del self._timers[uri]
        self._tasks[uri] = task = self._loop.create_task(self.check(uri, urgency, due))
        task.add_done_callback(lambda _: self._done(uri, task))

    def _done(self, uri: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(uri) is task:
            del self._tasks[uri]
        self._complain(task)

    def _stop(self, uri: str) -> None:
        if uri in self._timers:
            self._timers.pop(uri).cancel()
        if uri in self._tasks:
            self._tasks.pop(uri).cancel()

    def _run(self, urgency: Urgency, work: Callable[[], T], then: Callable[[T], None]) -> None:
        async def both() -> None:
            then(await self.do(urgency, work))

        task = self._loop.create_task(both())
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        task.add_done_callback(self._complain)

    def _complain(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.tell(f"internal error: {trouble(error)}")

    def _tell(self, text: str) -> None:
        self._loop.call_soon_threadsafe(self.tell, text)

    def tell(self, text: str) -> None:
        """Show a message, once."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            self._editor.say(text)
