"""A small training loop that knows nothing of Headway. Try: headway run examples/plain/train.py"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(samples: int) -> TensorDataset:
    x = torch.randn(samples, 16)
    return TensorDataset(x, x.sin().sum(dim=1, keepdim=True))


def main() -> None:
    torch.manual_seed(0)
    loader = DataLoader(make_data(4096), batch_size=64, shuffle=True)
    held_out = DataLoader(make_data(512), batch_size=64)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.MSELoss()
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
        with torch.no_grad():
            loss = sum(loss_of(model(x), y).item() for x, y in held_out) / len(held_out)
        print(f"epoch {epoch} loss {loss:.4f}", flush=True)
        torch.save(model.state_dict(), "plain.pt")


if __name__ == "__main__":
    main()
