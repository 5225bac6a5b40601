"""Settings that learn a small board in a second."""

from typing import Any

QUICK: dict[str, dict[str, Any]] = {
    "multvae": {"topology": "20-10-20", "epochs": 60, "learning_rate": 0.01},
    "neumf": {"factors": 8, "layers": "16-8", "epochs": 60, "batch": 90, "learning_rate": 0.01},
    "sasrec": {"dim": 16, "length": 8, "epochs": 30, "batch": 8, "negatives": 16, "learning_rate": 0.01},
}
