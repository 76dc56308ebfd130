"""TWBias (Hsieh, Huang and Tsai, Findings of EMNLP 2024): social bias in Traditional Chinese.

As the perplexity of sentences that state a stereotype, before and after the group in them is swapped for another.
"""
