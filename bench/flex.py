"""Attention under a tree mask: a dense mask for SDPA beside flex_attention with blocks of several sizes. Run by hand.

    python bench/flex.py                                # 0.5B-shaped heads, two rows; needs a C++ compiler
    python bench/flex.py --device cuda --dtype bfloat16 --heads 28 --groups 4 --size 128 --rows 16

A row has a prefix, a trunk and branches of 30 tokens. Printed are milliseconds of a layer's attention, of the blocks that a
pass needs once, seconds to compile, and the largest difference.
"""

import argparse
import time

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import pad, scaled_dot_product_attention

PREFIX, TRUNK, BRANCH, WIDTH = 54, 65, 30, 365


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--heads", type=int, default=14)
    parser.add_argument("--groups", type=int, default=2, help="heads of keys and values")
    parser.add_argument("--size", type=int, default=64)
    given = parser.parse_args()
    torch.set_num_threads(1)
    end = torch.full((WIDTH,), WIDTH)
    for first in range(TRUNK, WIDTH, BRANCH):
        end[first : first + BRANCH] = min(first + BRANCH, WIDTH)
    end = end.to(given.device)
    at = torch.arange(WIDTH, device=given.device)
    visible = pad((at <= at[:, None]) & (at[:, None] < end), (PREFIX, 0), value=True)[None, None]
    torch.manual_seed(0)

    def draw(heads: int, tokens: int) -> torch.Tensor:
        shape = (given.rows, heads, tokens, given.size)
        return torch.randn(shape, device=given.device, dtype=getattr(torch, given.dtype))

    query, key, value = draw(given.heads, WIDTH), *(draw(given.groups, PREFIX + WIDTH) for _ in range(2))

    def seen(row, head, token, column):
        own = column - PREFIX
        return (column < PREFIX) | ((own <= token) & (token < end[own.clamp(min=0)]))

    def milliseconds(run) -> float:
        best = float("inf")
        for _ in range(6):
            wait()
            began = time.perf_counter()
            run()
            wait()
            best = min(best, time.perf_counter() - began)
        return 1000 * best

    def wait() -> None:
        if given.device != "cpu":
            torch.cuda.synchronize()

    with torch.inference_mode():
        dense = lambda: scaled_dot_product_attention(query, key, value, attn_mask=visible, enable_gqa=True)  # noqa: E731
        expected = dense()
        print(f"dense mask: {milliseconds(dense):.2f} ms")
        compiled = torch.compile(flex_attention, dynamic=False)
        for block in (32, 64, 128):
            make = lambda block=block: create_block_mask(  # noqa: E731
                seen, None, None, WIDTH, PREFIX + WIDTH, given.device, BLOCK_SIZE=block
            )
            mask = make()
            flex = lambda mask=mask: compiled(query, key, value, block_mask=mask, enable_gqa=True)  # noqa: E731
            began = time.perf_counter()
            off = float((flex() - expected).abs().max())
            compiling = time.perf_counter() - began
            print(
                f"flex_attention, blocks of {block}: {milliseconds(flex):.2f} ms, {mask.sparsity():.0f} % left out, "
                f"blocks found in {milliseconds(make):.2f} ms, compiled in {compiling:.0f} s, off by {off:.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
