"""The PyTorch backend: define-by-run, NHWC images as permuted views, autograd for gradients."""
