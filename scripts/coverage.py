"""Writes docs/coverage.md: the component classes of RLgraph 0.5.5 and what stands for each here.

A line of TABLE is a class of the original (those below rlgraph/components/), its counterpart, and a
note. A counterpart is a registered component, an operation (`ops.softmax`), an object by its path
(`rlg.module:name`), or "-" for none; a note then says why. tests/test_coverage.py checks all.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
HEAD = """# What became of RLgraph's components

Every component class of the original (RLgraph 0.5.5, `rlgraph/components/`), and what does its work
here: a component by its registry name, an operation of [`self.ops`](ops.md), or the object that has
taken it over. `scripts/coverage.py` writes this page.

"""
LAYER = "rlg.graph.core.component.component:Component"
TABLE = f"""
# action_adapters
ActionAdapter | action_head | one head for every action space
BernoulliDistributionAdapter | action_head |
BetaDistributionAdapter | action_head | `bounded: beta`
CategoricalDistributionAdapter | action_head |
GumbelSoftmaxDistributionAdapter | gumbel_softmax | its parameters are logits: a dense layer's
NormalDistributionAdapter | action_head |
SquashedNormalDistributionAdapter | action_head | `bounded: squashed_normal`
# common
BatchApply | rlg.graph:graph_fn | `fold_time=True`
BatchSplitter | batch_splitter |
ContainerMerger | container_merger | keys like `a/b` nest
DecayComponent | rlg.graph.components.schedules.schedule:Schedule |
ConstantDecay | constant_schedule |
EnvironmentStepper | rlg.execution.sampling:SteppingSampler | environments stay outside of the graph
IterativeOptimization | iterative_optimization |
MultiGpuSynchronizer | {LAYER}.replicate | replicas of any method, not of one optimizer
NoiseComponent | gaussian_noise |
ConstantNoise | - | noise that is always the same explores nothing
GaussianNoise | gaussian_noise |
OrnsteinUhlenbeckNoise | ornstein_uhlenbeck_noise |
RepeaterStack | repeater_stack |
Sampler | sampler |
Slice | slice |
Softmax | ops.softmax |
StagingArea | rlg.execution.engines.threads:open_threads | a sampler thread works one round ahead
Synchronizable | target_sync |
TimeDependentParameter | rlg.graph.components.schedules.schedule:Schedule |
Constant | constant_schedule |
PolynomialDecay | polynomial_schedule |
LinearDecay | linear_schedule |
ExponentialDecay | exponential_schedule |
# component.py
Component | {LAYER} |
# distributions
Bernoulli | bernoulli |
Beta | beta |
Categorical | categorical |
Distribution | rlg.graph.components.distributions.distribution:Distribution |
GumbelSoftmax | gumbel_softmax |
JointCumulativeDistribution | joint |
MixtureDistribution | normal_mixture | of normal distributions
MultivariateNormal | diag_normal | with a diagonal covariance, as there
Normal | normal |
SquashedNormal | squashed_normal |
# explorations
EpsilonExploration | epsilon_greedy |
Exploration | epsilon_greedy | noise for floats: gaussian_noise, ornstein_uhlenbeck_noise
# helpers
Clipping | clip |
Batcher | rlg.execution.sampling:SteppingSampler | one act call for all environments of a sampler
GeneralizedAdvantageEstimation | gae | with per-step discounts: lambda_returns
MemSegmentTree | priority_tree |
MinSumSegmentTree | priority_tree |
SegmentTree | priority_tree |
SequenceHelper | discounted_sum | lengths: its `steps_left`; decays: its `decays`
SoftMax | ops.log_softmax |
VTraceFunction | vtrace |
# layers
Layer | {LAYER} |
LayerCallOutput | - | API methods return tuples
ConcatLayer | concat |
Conv2DLayer | conv2d |
Conv2DTransposeLayer | conv2d_transpose |
DenseLayer | dense |
LocalResponseNormalizationLayer | local_response_norm |
LSTMLayer | lstm_layer |
MaxPool2DLayer | max_pool2d |
MultiLSTMLayer | - | missing: a recurrent network has one recurrent layer
NNLayer | rlg.graph.components.initializers:Initialized |
ResidualLayer | residual |
Clip | clip |
Concat | concat |
ContainerSplitter | container_splitter |
ConvertType | convert_type |
GrayScale | grayscale |
ImageBinary | image_binary |
ImageCrop | crop |
ImageResize | resize |
MovingStandardize | moving_standardize |
Multiply | multiply |
Divide | divide |
Normalize | normalize |
PreprocessLayer | {LAYER} |
RankReinterpreter | rlg.graph.components.algorithms.sequences:with_time |
ReShape | reshape |
Sequence | sequence |
Transpose | ops.transpose | ranks name batch and time: components take TB and BT as they are
EmbeddingLookup | embedding |
StringLayer | - | spaces have numbers only
StringToHashBucket | - | spaces have numbers only: hash strings in the environment
# loss_functions
ActorCriticLossFunction | a2c_loss |
CategoricalCrossEntropyLoss | cross_entropy_loss |
ContainerLossFunction | - | missing: add the losses of a Dict's entries in an API method
DQFDLossFunction | dqfd | large_margin_loss, l2_loss and dqn_loss, twice
DQNLossFunction | dqn_loss |
EuclidianDistanceLoss | euclidean_loss |
IMPALALossFunction | impala_loss |
LossFunction | rlg.graph.components.losses.items:ItemLoss |
NegativeLogLikelihoodLoss | nll_loss |
PPOLossFunction | ppo_loss |
SACLossFunction | sac_loss |
SupervisedLossFunction | rlg.graph.components.losses.items:ItemLoss |
# memories
FIFOQueue | fifo_queue |
MemPrioritizedReplay | prioritized_replay | one class for every backend
Memory | rlg.graph.components.memories.columns:Columns |
PrioritizedReplay | prioritized_replay |
QueueRunner | rlg.execution.trainers:QueueTrainer | rollouts reach the learner by the loop
ReplayMemory | replay |
RingBuffer | ring_buffer |
# models
IntrinsicCuriosityWorldOptionModel | curiosity | `agent.curiosity` of PPO
Model | {LAYER} |
SupervisedModel | rlg.graph.components.optimizers.optimizer:Optimizer.step | of any network and loss
# neural_networks
ActorComponent | rlg.api.agents.agent:Agent.act |
DictPreprocessorStack | dict_preprocessor |
IMPALANetwork | rlg.graph.components.networks.impala:ImpalaSmall |
LargeIMPALANetwork | impala_large |
SmallIMPALANetwork | impala_small |
MultiInputStreamNeuralNetwork | multi_input |
NeuralNetwork | stack |
PreprocessorStack | preprocessor_stack |
SACValueNetwork | - | critics see states and actions, as Haarnoja et al. (2018b) have them
Stack | stack |
ValueFunction | value_head | on any network
VariationalAutoEncoder | variational_autoencoder |
# optimizers
HorovodOptimizer | rlg.graph.components.optimizers.average:Average | and of `executor=ddp`
LocalOptimizer | rlg.graph.components.optimizers.optimizer:Optimizer |
GradientDescentOptimizer | sgd |
AdamOptimizer | adam |
NadamOptimizer | nadam |
AdagradOptimizer | adagrad |
AdadeltaOptimizer | adadelta |
SGDOptimizer | sgd |
RMSPropOptimizer | rmsprop |
Optimizer | rlg.graph.components.optimizers.optimizer:Optimizer |
# policies
DuelingPolicy | dueling_head | a head of any q_policy
DynamicBatchingPolicy | rlg.execution.sampling:SteppingSampler | as Batcher
Policy | policy |
SharedValueFunctionPolicy | shared_value_policy |
"""


def rows() -> list[tuple[str, str, str, str]]:
    """Folder, class, counterpart and note."""
    found, folder = [], ""
    for line in filter(None, TABLE.splitlines()):
        if line.startswith("# "):
            folder = line[2:]
        else:
            name, counterpart, note = (part.strip() for part in line.split("|"))
            found.append((folder, name, counterpart, note))
    return found


def exists(counterpart: str) -> bool:
    """Whether there is such a component, operation or object."""
    from rlg.graph.core.component.ops import Ops
    from rlg.graph.registry import COMPONENTS

    if ":" in counterpart:
        module, _, path = counterpart.partition(":")
        found = import_module(module)
        for name in path.split("."):
            found = getattr(found, name, None)
        return found is not None
    return hasattr(Ops, counterpart.removeprefix("ops.")) or counterpart in COMPONENTS


def page() -> str:
    """The whole page."""
    table = rows()
    covered = sum(counterpart != "-" for _, _, counterpart, _ in table)
    counts = Counter(folder for folder, *_ in table)
    lines = [f"{covered} of {len(table)} classes have a counterpart."]
    for folder in counts:
        lines += ["", f"## {folder}", "", "| RLgraph | here | note |", "|---|---|---|"]
        for _, name, counterpart, note in (row for row in table if row[0] == folder):
            here = "none" if counterpart == "-" else f"`{counterpart}`"
            lines.append(f"| {name} | {here} | {note} |")
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
