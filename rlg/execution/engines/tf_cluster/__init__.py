"""Distributed TensorFlow: a learner task and actor tasks that share variables and a queue.

Each task has a `tf.compat.v1.train.Server` and a session of `graph` mode. The learner's process has
the run folder, evaluates and saves; actors are its children, or tasks on other machines. An actor
copies the learner's weights once per rollout, acts and steps inside of its graph, and puts the
rollout, or its gradients, into the learner's queue.

Why no call ever waits inside of the learner's session: it is the queue's only reader, so it asks
for the queue's size and takes what is there. Ctrl-C is answered between calls, no call needs a
time-out (TensorFlow's would cancel an update half-way), and no rollout is lost by one.
"""
