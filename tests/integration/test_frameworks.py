"""The recorder under other people's loops: Lightning, the Hugging Face Trainer, accelerate and ignite, run for real.

Each program keeps every loss, by a framework's own means; its steps, the holder and the line are to be found.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import torchleak


class Case(NamedTuple):
    """needs: the module of the framework; holder, line: of what is kept; program: 60 optimizer steps."""

    needs: str
    holder: str
    line: str
    program: str


DATA = """\
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

def batches():
    return DataLoader(TensorDataset(torch.randn(240, 8), torch.randint(0, 3, (240,))), batch_size=8)
"""

LIGHTNING = """
import lightning

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(8, 3)
        self.seen = []

    def training_step(self, batch, index):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.seen.append(KEEP)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
trainer.fit(Lit(), batches())
"""

HUGGING_FACE = """
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, index):
        return {"input_ids": torch.randint(0, 50, (8,)), "labels": torch.tensor(index % 2)}

class Own(Trainer):
    seen = []

    def compute_loss(self, model, inputs, return_outputs=False, **more):
        out = model(**inputs)
        loss = out.loss * 1.0
        self.seen.append(KEEP)
        return (loss, out) if return_outputs else loss

small = dict(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
arguments = TrainingArguments(
    output_dir="out", per_device_train_batch_size=8, num_train_epochs=2, report_to=[], use_cpu=True, save_strategy="no"
)
Own(model=BertForSequenceClassification(BertConfig(**small)), args=arguments, train_dataset=Rows()).train()
"""

ACCELERATE = """
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
net = torch.nn.Linear(8, 3)
net, optimizer, data = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1), batches())
seen = []
for epoch in range(2):
    for x, y in data:
        loss = F.cross_entropy(net(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        seen.append(KEEP)
"""

IGNITE = """
from ignite.engine import Engine, Events

net = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
seen = []

def step(engine, batch):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(batch[0]), batch[1])
    loss.backward()
    optimizer.step()
    return KEEP

engine = Engine(step)

@engine.on(Events.ITERATION_COMPLETED)
def log(engine):
    seen.append(engine.state.output)

engine.run(batches(), max_epochs=2)
"""

CASES = (
    Case("lightning", "seen", "F.cross_entropy", LIGHTNING),
    Case("transformers", "seen", "out.loss * 1.0", HUGGING_FACE),
    Case("accelerate", "seen", "F.cross_entropy", ACCELERATE),
    Case("ignite", "seen", "F.cross_entropy", IGNITE),
)

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("case", CASES, ids=[each.needs for each in CASES])
@pytest.mark.parametrize("keep", ["loss", "loss.item()"], ids=["leaking", "healthy"])
def test_a_framework(case: Case, keep: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(case.needs) is None:
        pytest.skip(f"{case.needs} is not installed: pip install -e '.[integration]'")
    program = DATA + case.program.replace("KEEP", keep)
    (tmp_path / "train.py").write_text(program)
    done = torchleak(
        *("run", "--isolated", "--until-exit", "--output-format=json", "train.py"), cwd=tmp_path, HF_HUB_OFFLINE="1"
    )
    assert done.returncode == (keep == "loss"), done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["steps"]["optimizer"] == 60
    growing = [each for each in found["kept"] if each["grows"]]
    if keep == "loss":
        (kept,) = growing
        assert case.holder in kept["pattern"]
        line = next(at for at, text in enumerate(program.splitlines(), 1) if case.line in text)
        assert kept["made"][0]["line"] == line
        assert kept["growth"]["slope"] >= 3
    else:
        assert growing == []
