"""TWBias (Hsieh, Huang and Tsai, Findings of EMNLP 2024): social bias in Traditional Chinese.

It compares the perplexity of sentences that state a stereotype before and after another group is swapped in.
"""
