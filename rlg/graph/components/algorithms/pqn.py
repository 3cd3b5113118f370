"""Q-learning from many environments at once, as one graph: no memory and no target network."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete
from rlg.graph.components.algorithms.descent import Descent
from rlg.graph.components.common.minibatches import Minibatches
from rlg.graph.components.initializers import SONNET, recommend
from rlg.graph.components.losses.dqn import DQNLoss
from rlg.graph.components.networks.stack import accepted
from rlg.graph.components.preprocessing.reshape import FoldTime
from rlg.graph.components.returns.gae import GAE
from rlg.graph.limits import Fraction, PositiveFloat, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Box

RADAM = {"type": "radam", "learning_rate": 2.5e-4}


class QEpochs(Descent):
    """Several epochs over shuffled minibatches of states, actions and returns, in one plan.

    Replicas share each minibatch. Sub-actions share the return of their step.
    """

    def __init__(
        self, policy: Any, action_space: Box, optimizer: Any, n_epochs: int, batch_size: int
    ) -> None:
        super().__init__(policy, DQNLoss(), optimizer)
        self.action_space = action_space
        self.minibatches = Minibatches(n_epochs, batch_size)

    @api
    def update(self, records: Any, learning_rate: Any = None) -> Any:
        """Figures, means over all minibatches."""
        rate = {} if learning_rate is None else {"learning_rate": learning_rate}
        rows = self.minibatches.rows(records)
        _, figures = self.scan(self.step, {"records": records, **rate}, rows)
        return self.average(figures)

    @api
    def step(self, carry: Any, rows: Any) -> Any:
        """One minibatch."""
        records = self.minibatches.take(carry["records"], rows, self.minibatches.batch_size)
        gradients, loss, figures = self.replicate(self._differentiate, records)
        rate = [carry["learning_rate"]] if "learning_rate" in carry else []
        return carry, self.report(loss, self._descend(gradients, *rate), figures)

    @api
    def _differentiate(self, records: Any) -> Any:
        q = self.policy.q_values(
            records["states"], **accepted(self.policy, "q_values", masked=False)
        )
        td_errors, figures = self.td_errors(q, records["actions"], records["returns"])
        loss, _ = self.loss.loss(td_errors)
        return self.gradients(loss, self.policy.variables()), loss, figures

    @graph_fn
    def td_errors(self, q: Tensor, actions: Tensor, returns: Tensor) -> tuple[Tensor, Tensor]:
        """[B], or [B, D] for D sub-actions, and means of them and of the estimates."""
        ops = self.ops
        estimates = ops.pick(q, ops.cast(actions, "int64"))
        for _ in self.action_space.shape:
            returns = ops.expand_dims(returns, -1)
        errors = returns - estimates
        return errors, {"td_error": ops.mean(errors), "q_values": ops.mean(estimates)}


class PQN(Component):
    """Parallelised Q-learning: Gallici et al. (2024). Returns, epochs and minibatches are one plan.

    What keeps it stable is a network with normalised layers (`layer_norm`), which stands in for the
    target network, and many environments, which stand in for the memory.

    `act` takes states [B] and epsilon (one number, or [B]) and returns actions and values [B], the
    largest Q-value of each state; of D sub-actions the mean of theirs. `value` returns the latter.

    `update` takes a `batch`, a Dict with time first, [T, B, ...]: states, actions and values (as
    `act` saw and gave them), rewards, terminals and truncations (bool), and bootstrap_values: where
    a step was truncated, the value of the observation that it led to (elsewhere they are not read);
    last_values [B]: those of the states after the last step. Targets are Q(lambda) returns
    (Peng and Williams, 1996): G_t = r_t + gamma ((1 - q_lambda) max Q(s_{t+1}) + q_lambda G_{t+1}),
    also through actions that were not the best. metrics: means over minibatches of loss (half the
    squared error), td_error, q_values (of the actions that were taken) and gradient_norm.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        optimizer: Any = None,
        n_epochs: PositiveInt = 2,
        batch_size: PositiveInt = 128,
        gamma: Fraction = 0.99,
        q_lambda: Fraction = 0.65,
        max_grad_norm: PositiveFloat | None = 10.0,
        exploration: Any = "epsilon_greedy",
    ) -> None:
        self.action_space = discrete("PQN", action_space)
        self.policy = make(policy, action_space=self.action_space)
        recommend(SONNET, self.policy)  # flax's, as in the authors' code
        spec = RADAM if optimizer is None else optimizer
        self.optimizer = make(spec, max_grad_norm=max_grad_norm)
        self.exploration = make(exploration, action_space=self.action_space)
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.gamma = gamma
        self.q_lambda = q_lambda
        self.max_grad_norm = max_grad_norm
        # Advantages and values sum up to Q(lambda) returns, where values are those of best actions.
        self.returns = GAE(gamma, q_lambda)
        self.fold = FoldTime()
        parts = self.policy, self.action_space, self.optimizer
        self.learner = QEpochs(*parts, n_epochs, batch_size)

    @api
    def act(self, states: Any, epsilon: Any, explore: Static[bool] = True) -> Any:
        q = self.policy.q_values(states)
        actions = self.exploration.explore(q, epsilon) if explore else self.best(q)
        return actions, self.value_of(q)

    @api
    def value(self, states: Any) -> Any:
        return self.value_of(self.policy.q_values(states))

    @api
    def update(self, batch: Any, last_values: Any, learning_rate: Any = None) -> Any:
        """Learns from all minibatches of all epochs; returns metrics."""
        ends = batch["terminals"], batch["truncations"]
        _, returns = self.returns.call(
            batch["rewards"], batch["values"], last_values, *ends, batch["bootstrap_values"]
        )
        seen = {name: batch[name] for name in ("states", "actions")}
        return self.learner.update(self.fold.call({**seen, "returns": returns}), learning_rate)

    @graph_fn
    def best(self, q: Tensor) -> Tensor:
        return self.ops.argmax(q, -1)

    @graph_fn
    def value_of(self, q: Tensor) -> Tensor:
        """[B] of [B, A], or of [B, D, A]."""
        values = self.ops.max(q, -1)
        for _ in self.action_space.shape:
            values = self.ops.mean(values, -1)
        return values
