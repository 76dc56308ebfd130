"""McBE: bias in Chinese, measured by five tasks on one set of instances, each scored from 0 to 100.
Tian Lan et al., McBE: A Multi-task Chinese Bias Evaluation Benchmark for Large Language Models. Findings of ACL 2025."""
