"""cuda-in-worker: samples or batches are put on the GPU inside DataLoader workers.

Leaks
-----
    class Scans(Dataset):
        def __getitem__(self, i):
            return torch.from_numpy(np.load(self.paths[i])).cuda()

    loader = DataLoader(Scans(paths), batch_size=8, num_workers=4)

Instead
-------
    class Scans(Dataset):
        def __getitem__(self, i):
            return torch.from_numpy(np.load(self.paths[i]))

    loader = DataLoader(Scans(paths), batch_size=8, num_workers=4, pin_memory=True)
    for batch in loader:
        batch = batch.to(device, non_blocking=True)

Why
---
A forked worker cannot use CUDA once its parent has ("Cannot re-initialize CUDA in forked subprocess"). A spawned one
can, with a CUDA context of its own (hundreds of megabytes of GPU memory per worker), and every tensor it sends
keeps its memory until the receiver has let go of it; pin_memory fails on it.
Source: the note on CUDA in multi-process loading of the `torch.utils.data` documentation, pytorch/pytorch#40403.

Measured
--------
Not run here: needs CUDA.

When it stays silent
--------------------
No DataLoader of the file serves it with workers (data kept on the GPU and `num_workers=0` is a sound design), the
device may be the CPU for all the file shows (`self.device`, an argument), or the code asks for `get_worker_info()`.

How to fix it
-------------
By hand: return CPU tensors, use `pin_memory=True`, and `.to(device, non_blocking=True)` in the step loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from flake8_torchleak.finding import FixLevel, Severity
from flake8_torchleak.gate import Subject
from flake8_torchleak.model.gpu import transfers
from flake8_torchleak.model.loader import Workers
from flake8_torchleak.model.module import Module
from flake8_torchleak.rule import Report, rule
from flake8_torchleak.wording import called_with


@rule(
    "TLK302",
    "cuda-in-worker",
    fix=FixLevel.HINT,
    severity=Severity.WARNING,
    subject=Subject.TORCH,
    words=("num_workers",),
    beside=("cuda",),
)
def check(module: Module) -> Iterator[Report]:
    for transfer in transfers(module):
        owner = module.classes.around(transfer.call)
        name = transfer.function.name
        where = f"{owner.node.name}.{name}" if owner is not None else name
        yield Report(
            transfer.call,
            f"workers fail, or each takes GPU memory: `{where}()` calls `{called_with(transfer.call, transfer.told)}`; "
            "return CPU tensors, move the batch in the training loop",
            notes=(*transfer.notes, (transfer.site.call, "a DataLoader with workers")),
            severity=Severity.ERROR if transfer.site.workers is Workers.YES else Severity.WARNING,
            remedy=f"return CPU tensors from `{transfer.function.name}`, and call `.to(device, non_blocking=True)` on "
            "the batch in the training loop",
        )
