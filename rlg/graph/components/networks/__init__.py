"""Networks: layers in a row, with the API of a layer."""
