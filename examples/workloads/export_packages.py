#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles functions of LibTorch's tensors for this machine: packages that C++ loads without Python (AOTInductor).

export_packages.py --torch VERSION --key KEY --folder FOLDER NAME...

A name says everything: KIND-DEVICE-TYPE-SIZE-SIZE..., for example mlp_step-cpu-float32-batch8-inner64-width32. Each
becomes FOLDER/NAME.pt2, which is whole when it is there, and FOLDER/NAME.txt: the key it was made under, the seconds
that exporting and compiling took, the version of torch. Weights are arguments: one package serves every seed and
every layer of one shape. The workloads run this: common/package_store.hpp.
"""
import argparse
import contextlib
import os
import pathlib
import re
import sys
import tempfile
import time

import torch
import torch.nn.functional as F


class Layout:
    """Of a name: its sizes, and tensors of its device and type to trace with."""

    def __init__(self, name):
        self.kind, self.device, self.type, *sizes = name.split("-")
        self.sizes = {}
        for size in sizes:
            word, number = re.fullmatch(r"([a-z]+)(\d+)", size).groups()
            self.sizes[word] = int(number)

    def __getattr__(self, word):
        try:
            return self.__dict__["sizes"][word]
        except KeyError:
            raise AttributeError(word) from None

    def draw(self, *shape):
        return torch.randn(*shape, device=self.device).mul_(0.1).to(getattr(torch, self.type))


class Function(torch.nn.Module):
    """torch.export takes modules."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def feed_forward(x, norm_weight, norm_bias, up_weight, up_bias, down_weight, down_bias):
    inner = F.linear(F.layer_norm(x, x.shape[-1:], norm_weight, norm_bias), up_weight, up_bias)
    return x + F.linear(F.gelu(inner), down_weight, down_bias)


def attention(heads, x, norm_weight, norm_bias, qkv_weight, qkv_bias, out_weight, out_bias):
    batch, length, width = x.shape
    qkv = F.linear(F.layer_norm(x, (width,), norm_weight, norm_bias), qkv_weight, qkv_bias)
    query, key, value = qkv.view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return x + F.linear(mixed.transpose(1, 2).reshape(batch, length, width), out_weight, out_bias)


def feed_forward_weights(layout):
    width, inner = layout.width, layout.inner
    return [layout.draw(*shape) for shape in ((width,), (width,), (inner, width), (inner,), (width, inner), (width,))]


def ffn(layout):
    """The region of a block that follows attention, for any number of rows."""
    rows = torch.export.Dim("rows", min=2, max=1 << 22)
    arguments = [layout.draw(64, layout.width), *feed_forward_weights(layout)]
    return Function(feed_forward), arguments, ({0: rows}, *[None] * (len(arguments) - 1))


def block(layout):
    """A whole block, for sequences of one length."""

    def whole(x, *weights):
        middle = attention(layout.heads, x, *weights[:6])
        return feed_forward(middle, *weights[6:])

    return Function(whole), [layout.draw(layout.batch, layout.length, layout.width), *block_weights(layout)], None


def block_weights(layout):
    width = layout.width
    shapes = ((width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,))
    return [*(layout.draw(*shape) for shape in shapes), *feed_forward_weights(layout)]


def blocks(layout):
    """All blocks of a net in one package, each with its own copy of the code."""

    def whole(x, *weights):
        for layer in range(layout.layers):
            own = weights[12 * layer:12 * layer + 12]
            x = feed_forward(attention(layout.heads, x, *own[:6]), *own[6:])
        return x

    x = layout.draw(layout.batch, layout.length, layout.width)
    return Function(whole), [x, *(weight for _ in range(layout.layers) for weight in block_weights(layout))], None


def root_mean_square_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def gated(layout):
    """A block with one gated network."""
    width, inner = layout.width, layout.inner

    def whole(x, norm, gate, up, down):
        normal = root_mean_square_norm(x, norm)
        return x + F.linear(F.silu(F.linear(normal, gate)) * F.linear(normal, up), down)

    shapes = ((layout.tokens, width), (width,), (inner, width), (inner, width), (width, inner))
    return Function(whole), [layout.draw(*shape) for shape in shapes], None


def experts(layout):
    """The same with a mixture of gated networks, two for each token. Each network has as many places as twice its share
    of the tokens: shapes do not depend on who is chosen, and a token without a place goes without that network."""
    count, width, inner, tokens = layout.experts, layout.width, layout.inner, layout.tokens
    capacity = 2 * 2 * tokens // count

    def whole(x, norm, router, gates, ups, downs):
        normal = root_mean_square_norm(x, norm)
        scores, chosen = torch.sigmoid(F.linear(normal, router)).topk(2, -1)
        shares = scores / scores.sum(-1, keepdim=True)
        flat = chosen.flatten()
        is_chosen = (flat.unsqueeze(-1) == torch.arange(count, device=x.device)).to(torch.int64)
        place = (is_chosen.cumsum(0) * is_chosen).sum(-1) - 1
        slot = torch.where(place < capacity, flat * capacity + place, count * capacity)
        given = x.new_zeros(count * capacity + 1, width).index_copy(0, slot, normal.repeat_interleave(2, 0))
        rows = given[:-1].view(count, capacity, width)
        middle = F.silu(torch.bmm(rows, gates.transpose(1, 2))) * torch.bmm(rows, ups.transpose(1, 2))
        out = torch.cat([torch.bmm(middle, downs.transpose(1, 2)).view(-1, width), x.new_zeros(1, width)])
        return x + (out.index_select(0, slot).view(tokens, 2, width) * shares.unsqueeze(-1)).sum(1)

    shapes = ((tokens, width), (width,), (count, width), (count, inner, width), (count, inner, width),
              (count, width, inner))
    return Function(whole), [layout.draw(*shape) for shape in shapes], None


def update(forward, layout, weights):
    """Forward, backward and the update of plain gradient descent as one function:
    (x, target, rate, weights...) to (output, loss, new weights...)."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def step(x, target, rate, *weights):
        def loss_of(weights):
            output = forward(x, *weights)
            return F.mse_loss(output, target), output

        gradients, (loss, output) = torch.func.grad_and_value(loss_of, has_aux=True)(weights)
        changed = [(weight - rate * gradient).to(weight.dtype) for weight, gradient in zip(weights, gradients)]
        return (output, loss, *changed)

    rate = torch.tensor(0.01, device=layout.device)
    arguments = [layout.draw(layout.batch, layout.width), layout.draw(layout.batch, layout.width), rate, *weights]
    return make_fx(step)(*arguments), arguments, None


def mlp_step(layout):
    """A step of a net of two layers with ReLU between."""
    width, inner = layout.width, layout.inner

    def forward(x, up_weight, up_bias, down_weight, down_bias):
        return F.linear(F.relu(F.linear(x, up_weight, up_bias)), down_weight, down_bias)

    weights = [layout.draw(*shape) for shape in ((inner, width), (inner,), (width, inner), (width,))]
    return update(forward, layout, weights)


def stack_layer(x, weight, bias, norm_weight, norm_bias):
    return F.gelu(F.layer_norm(F.linear(x, weight, bias), norm_bias.shape, norm_weight, norm_bias))


def stack_weights(layout):
    width = layout.width
    return [layout.draw(*shape) for _ in range(layout.layers)
            for shape in ((width, width), (width,), (width,), (width,))]


def stack_forward(layout):
    """The forward pass of such a net: of each layer what a backward pass wants, the output last."""

    def forward(x, *weights):
        kept = []
        for layer in range(layout.layers):
            weight, bias, norm_weight, norm_bias = weights[4 * layer:4 * layer + 4]
            linear = F.linear(x, weight, bias)
            norm, mean, inverse = torch.native_layer_norm(linear, norm_bias.shape, norm_weight, norm_bias, 1e-5)
            x = F.gelu(norm)
            kept += [linear, norm, mean, inverse, x]
        return tuple(kept)

    return Function(forward), [layout.draw(layout.batch, layout.width), *stack_weights(layout)], None


def stack_step(layout):
    """A step of a net of linear layers, each with a norm and GELU."""

    def forward(x, *weights):
        for layer in range(layout.layers):
            x = stack_layer(x, *weights[4 * layer:4 * layer + 4])
        return x

    return update(forward, layout, stack_weights(layout))


def residual_block(x, stride, weights):
    """Two convolutions with norms around a shortcut; takes its weights off the front of the list."""
    out = weights[0].shape[0]
    first, second, scale1, shift1, scale2, shift2 = (weights.pop(0) for _ in range(6))
    inside = F.silu(F.group_norm(F.conv2d(x, first, stride=stride, padding=1), out // 8, scale1, shift1))
    inside = F.group_norm(F.conv2d(inside, second, padding=1), out // 8, scale2, shift2)
    shortcut = F.conv2d(x, weights.pop(0), stride=stride) if x.shape[1] != out or stride != 1 else x
    return F.silu(inside + shortcut)


def resnet_shapes(layout):
    """Of the weights of common/resnet.cpp, in the order of its parameters."""
    width = layout.width
    shapes = [(width, 3, 3, 3), (width,), (width,)]
    channels = width
    for stage in range(4):
        out = width << stage
        for _ in range(layout.blocks):
            shapes += [(out, channels, 3, 3), (out, out, 3, 3), (out,), (out,), (out,), (out,)]
            if channels != out:
                shapes.append((out, channels, 1, 1))
            channels = out
    return [*shapes, (layout.classes, channels), (layout.classes,)]


def resnet_step(layout):
    """Forward and backward of a residual net: (images, labels, weights...) to (logits, loss, gradients...)."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def step(images, labels, *weights):
        def loss_of(weights):
            left = list(weights)
            stem, scale, shift = (left.pop(0) for _ in range(3))
            x = F.silu(F.group_norm(F.conv2d(images, stem, padding=1), layout.width // 8, scale, shift))
            for stage in range(4):
                for index in range(layout.blocks):
                    x = residual_block(x, 2 if stage > 0 and index == 0 else 1, left)
            logits = F.linear(x.mean((2, 3)), *left)
            return F.cross_entropy(logits, labels), logits

        gradients, (loss, logits) = torch.func.grad_and_value(loss_of, has_aux=True)(weights)
        return (logits, loss, *gradients)

    images = layout.draw(layout.batch, 3, layout.image, layout.image)
    labels = torch.zeros(layout.batch, dtype=torch.int64, device=layout.device)
    arguments = [images, labels, *(layout.draw(*shape) for shape in resnet_shapes(layout))]
    return make_fx(step)(*arguments), arguments, None


KINDS = {function.__name__: function for function in (block, blocks, experts, ffn, gated, mlp_step, resnet_step, stack_forward,
                                                          stack_step)}


def make(name, key, folder, making):
    from torch._inductor import aoti_compile_and_package

    layout = Layout(name)
    begin = time.monotonic()
    with torch.no_grad():
        module, arguments, dynamic = KINDS[layout.kind](layout)
        program = torch.export.export(module, tuple(arguments),
                                      dynamic_shapes=None if dynamic is None else (dynamic,))
        # What is written to standard output is for whoever reads the log.
        with contextlib.redirect_stdout(sys.stderr):
            package = aoti_compile_and_package(program, package_path=os.path.join(making, name + ".pt2"))
    seconds = time.monotonic() - begin
    described = pathlib.Path(making, name + ".txt")
    described.write_text(f"key {key}\ncompile_s {seconds:.3f}\ntorch {torch.__version__}\n")
    # The package last: who finds it finds its description.
    os.replace(described, pathlib.Path(folder, described.name))
    os.replace(package, pathlib.Path(folder, os.path.basename(package)))
    print(f"{name}: exported and compiled in {seconds:.1f} s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--torch", required=True, help="version that the packages are for: 2.11.0")
    parser.add_argument("--key", required=True, help="of what the packages depend on beside their names")
    parser.add_argument("--folder", required=True)
    parser.add_argument("names", nargs="+", metavar="NAME")
    arguments = parser.parse_args()
    if torch.__version__.partition("+")[0] != arguments.torch:
        sys.exit(f"export_packages.py: {sys.executable} has torch {torch.__version__}, "
                 f"and the packages are for {arguments.torch}")
    torch.set_num_threads(1)  # the number is compiled in, and the workloads compute on one thread
    with tempfile.TemporaryDirectory(prefix=".making-", dir=arguments.folder) as making:
        # The compiler's files between go with it, and none of an earlier run are found: what is timed is done.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(making, "compiler")
        for name in arguments.names:
            make(name, arguments.key, arguments.folder, making)


if __name__ == "__main__":
    main()
