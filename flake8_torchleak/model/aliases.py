"""Other public names of functions and classes of torch and numpy -> the one that all tables here know.

Made by `python -m tests.laws.spelling.paths` from the installed libraries, by comparing the objects themselves;
`tests/test_spelling.py` holds it against them. Nothing of it is written by hand.
"""

from __future__ import annotations

_MOVED: dict[str, dict[str, str]] = {
    "numpy.random.bit_generator": {"numpy.random": "BitGenerator SeedSequence"},
    "numpy.random.mtrand": {
        "numpy.random": (
            "RandomState beta binomial bytes chisquare choice dirichlet exponential f gamma "
            "geometric get_bit_generator get_state gumbel hypergeometric laplace logistic "
            "lognormal logseries multinomial multivariate_normal negative_binomial "
            "noncentral_chisquare noncentral_f normal pareto permutation poisson power rand "
            "randint randn random random_integers random_sample ranf rayleigh sample seed "
            "set_bit_generator set_state shuffle standard_cauchy standard_exponential "
            "standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull "
            "zipf"
        )
    },
    "torch": {
        "torch.nn.functional": (
            "adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d "
            "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity "
            "hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle "
            "pixel_unshuffle prelu relu_ rrelu_ selu_ threshold_"
        )
    },
    "torch.amp": {"torch": "GradScaler autocast"},
    "torch.amp.autocast_mode": {"torch": "autocast", "torch.amp": "custom_bwd custom_fwd is_autocast_available"},
    "torch.amp.grad_scaler": {"torch": "GradScaler"},
    "torch.autograd.anomaly_mode": {"torch.autograd": "detect_anomaly set_detect_anomaly"},
    "torch.autograd": {
        "torch": "enable_grad inference_mode no_grad set_grad_enabled",
        "torch.nn.functional": "has_torch_function",
    },
    "torch.autograd.function": {"torch.autograd": "Function NestedIOFunction"},
    "torch.autograd.grad_mode": {
        "torch": "enable_grad inference_mode no_grad set_grad_enabled",
        "torch.autograd": "enforce_grad_layout_policy set_multithreading_enabled",
    },
    "torch.autograd.gradcheck": {"torch.autograd": "gradcheck gradgradcheck"},
    "torch.autograd.variable": {"torch.autograd": "Variable"},
    "torch.cuda.amp.autocast_mode": {"torch.cuda.amp": "autocast custom_bwd custom_fwd"},
    "torch.cuda.amp.common": {"torch.cuda.amp": "amp_definitely_not_available"},
    "torch.cuda.amp.grad_scaler": {"torch.cuda.amp": "GradScaler"},
    "torch.cuda.graphs": {
        "torch.cuda": "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables"
    },
    "torch.cuda.green_contexts": {"torch.cuda": "GreenContext"},
    "torch.cuda.memory": {
        "torch.cuda": (
            "CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete "
            "caching_allocator_disabled caching_allocator_enable change_current_allocator "
            "empty_cache get_allocator_backend get_per_process_memory_fraction host_memory_stats "
            "host_memory_stats_as_nested_dict list_gpu_processes max_memory_allocated "
            "max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached "
            "memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict "
            "memory_summary reset_accumulated_host_memory_stats reset_accumulated_memory_stats "
            "reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats "
            "reset_peak_memory_stats set_per_process_memory_fraction use_mem_pool"
        )
    },
    "torch.cuda.random": {
        "torch.cuda": (
            "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed "
            "seed_all set_rng_state set_rng_state_all"
        )
    },
    "torch.cuda.streams": {"torch.cuda": "Event ExternalStream Stream"},
    "torch.distributions.bernoulli": {"torch.distributions": "Bernoulli"},
    "torch.distributions.beta": {"torch.distributions": "Beta"},
    "torch.distributions.binomial": {"torch.distributions": "Binomial"},
    "torch.distributions.categorical": {"torch.distributions": "Categorical"},
    "torch.distributions.cauchy": {"torch.distributions": "Cauchy"},
    "torch.distributions.chi2": {"torch.distributions": "Chi2"},
    "torch.distributions.constraint_registry": {"torch.distributions": "biject_to transform_to"},
    "torch.distributions.continuous_bernoulli": {"torch.distributions": "ContinuousBernoulli"},
    "torch.distributions.dirichlet": {"torch.distributions": "Dirichlet"},
    "torch.distributions.distribution": {"torch.distributions": "Distribution"},
    "torch.distributions.exp_family": {"torch.distributions": "ExponentialFamily"},
    "torch.distributions.exponential": {"torch.distributions": "Exponential"},
    "torch.distributions.fishersnedecor": {"torch.distributions": "FisherSnedecor"},
    "torch.distributions.gamma": {"torch.distributions": "Gamma"},
    "torch.distributions.generalized_pareto": {"torch.distributions": "GeneralizedPareto"},
    "torch.distributions.geometric": {"torch.distributions": "Geometric"},
    "torch.distributions.gumbel": {"torch.distributions": "Gumbel"},
    "torch.distributions.half_cauchy": {"torch.distributions": "HalfCauchy"},
    "torch.distributions.half_normal": {"torch.distributions": "HalfNormal"},
    "torch.distributions.independent": {"torch.distributions": "Independent"},
    "torch.distributions.inverse_gamma": {"torch.distributions": "InverseGamma"},
    "torch.distributions.kl": {"torch.distributions": "kl_divergence register_kl"},
    "torch.distributions.kumaraswamy": {"torch.distributions": "Kumaraswamy"},
    "torch.distributions.laplace": {"torch.distributions": "Laplace"},
    "torch.distributions.lkj_cholesky": {"torch.distributions": "LKJCholesky"},
    "torch.distributions.log_normal": {"torch.distributions": "LogNormal"},
    "torch.distributions.logistic_normal": {"torch.distributions": "LogisticNormal"},
    "torch.distributions.lowrank_multivariate_normal": {"torch.distributions": "LowRankMultivariateNormal"},
    "torch.distributions.mixture_same_family": {"torch.distributions": "MixtureSameFamily"},
    "torch.distributions.multinomial": {"torch.distributions": "Multinomial"},
    "torch.distributions.multivariate_normal": {"torch.distributions": "MultivariateNormal"},
    "torch.distributions.negative_binomial": {"torch.distributions": "NegativeBinomial"},
    "torch.distributions.normal": {"torch.distributions": "Normal"},
    "torch.distributions.one_hot_categorical": {
        "torch.distributions": "OneHotCategorical OneHotCategoricalStraightThrough"
    },
    "torch.distributions.pareto": {"torch.distributions": "Pareto"},
    "torch.distributions.poisson": {"torch.distributions": "Poisson"},
    "torch.distributions.relaxed_bernoulli": {"torch.distributions": "RelaxedBernoulli"},
    "torch.distributions.relaxed_categorical": {"torch.distributions": "RelaxedOneHotCategorical"},
    "torch.distributions.studentT": {"torch.distributions": "StudentT"},
    "torch.distributions.transformed_distribution": {"torch.distributions": "TransformedDistribution"},
    "torch.distributions.transforms": {
        "torch.distributions": (
            "AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform "
            "CumulativeDistributionTransform ExpTransform IndependentTransform "
            "LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform "
            "SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform "
            "StickBreakingTransform TanhTransform Transform identity_transform"
        )
    },
    "torch.distributions.uniform": {"torch.distributions": "Uniform"},
    "torch.distributions.von_mises": {"torch.distributions": "VonMises"},
    "torch.distributions.weibull": {"torch.distributions": "Weibull"},
    "torch.distributions.wishart": {"torch.distributions": "Wishart"},
    "torch.func": {"torch": "vmap"},
    "torch.functional": {
        "torch": (
            "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors "
            "cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm pca_lowrank split "
            "stft svd_lowrank tensordot unique unique_consecutive unravel_index"
        )
    },
    "torch.nn.modules": {
        "torch.nn": (
            "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss "
            "AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d "
            "AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d "
            "Bilinear CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d "
            "ConstantPad1d ConstantPad2d ConstantPad3d Container Conv1d Conv2d Conv3d "
            "ConvTranspose1d ConvTranspose2d ConvTranspose3d CosineEmbeddingLoss CosineSimilarity "
            "CrossEntropyLoss CrossMapLRN2d Dropout Dropout1d Dropout2d Dropout3d ELU Embedding "
            "EmbeddingBag FeatureAlphaDropout Flatten Fold FractionalMaxPool2d "
            "FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink "
            "Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d "
            "InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LSTM "
            "LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d "
            "LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
            "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU Linear "
            "LinearCrossEntropyLoss LinearCrossEntropyOptions LocalResponseNorm LogSigmoid "
            "LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
            "MaxUnpool2d MaxUnpool3d Mish Module ModuleDict ModuleList MultiLabelMarginLoss "
            "MultiLabelSoftMarginLoss MultiMarginLoss MultiheadAttention NLLLoss NLLLoss2d PReLU "
            "PairwiseDistance ParameterDict ParameterList PixelShuffle PixelUnshuffle "
            "PoissonNLLLoss RMSNorm RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 "
            "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
            "ReplicationPad3d SELU Sequential SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax "
            "Softmax2d Softmin Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink "
            "Threshold Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
            "TransformerEncoderLayer TripletMarginLoss TripletMarginWithDistanceLoss Unflatten "
            "Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d "
            "ZeroPad3d"
        )
    },
    "torch.nn.modules.activation": {
        "torch.nn": (
            "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
            "LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax "
            "Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
        )
    },
    "torch.nn.modules.adaptive": {"torch.nn": "AdaptiveLogSoftmaxWithLoss"},
    "torch.nn.modules.batchnorm": {
        "torch.nn": (
            "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm"
        )
    },
    "torch.nn.modules.channelshuffle": {"torch.nn": "ChannelShuffle"},
    "torch.nn.modules.container": {
        "torch.nn": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential"
    },
    "torch.nn.modules.conv": {
        "torch.nn": (
            "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d "
            "LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
        )
    },
    "torch.nn.modules.distance": {"torch.nn": "CosineSimilarity PairwiseDistance"},
    "torch.nn.modules.dropout": {"torch.nn": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout"},
    "torch.nn.modules.flatten": {"torch.nn": "Flatten Unflatten"},
    "torch.nn.modules.fold": {"torch.nn": "Fold Unfold"},
    "torch.nn.modules.instancenorm": {
        "torch.nn": (
            "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"
        )
    },
    "torch.nn.modules.linear": {"torch.nn": "Bilinear Identity LazyLinear Linear"},
    "torch.nn.modules.linear_cross_entropy_options": {"torch.nn": "LinearCrossEntropyOptions"},
    "torch.nn.modules.loss": {
        "torch.nn": (
            "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
            "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss "
            "MSELoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss "
            "MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
            "TripletMarginLoss TripletMarginWithDistanceLoss"
        )
    },
    "torch.nn.modules.module": {"torch.nn": "Module"},
    "torch.nn.modules.normalization": {"torch.nn": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm"},
    "torch.nn.modules.padding": {
        "torch.nn": (
            "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
            "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
            "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d"
        )
    },
    "torch.nn.modules.pixelshuffle": {"torch.nn": "PixelShuffle PixelUnshuffle"},
    "torch.nn.modules.pooling": {
        "torch.nn": (
            "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
            "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d "
            "FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d "
            "MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d"
        )
    },
    "torch.nn.modules.rnn": {"torch.nn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase"},
    "torch.nn.modules.sparse": {"torch.nn": "Embedding EmbeddingBag"},
    "torch.nn.modules.transformer": {
        "torch.nn": (
            "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
        )
    },
    "torch.nn.modules.upsampling": {"torch.nn": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
    "torch.nn.parallel": {"torch.nn": "DataParallel"},
    "torch.nn.parallel.comm": {
        "torch.cuda.comm": "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter"
    },
    "torch.nn.parallel.data_parallel": {"torch.nn": "DataParallel", "torch.nn.parallel": "data_parallel"},
    "torch.nn.parallel.distributed": {"torch.nn.parallel": "DistributedDataParallel"},
    "torch.nn.parallel.parallel_apply": {"torch.nn.parallel": "parallel_apply"},
    "torch.nn.parallel.replicate": {"torch.nn.parallel": "replicate"},
    "torch.nn.parallel.scatter_gather": {"torch.nn.parallel": "gather scatter"},
    "torch.nn.parameter": {"torch.nn": "Buffer Parameter UninitializedBuffer UninitializedParameter"},
    "torch.nn.utils.clip_grad": {"torch.nn.utils": "clip_grad_norm clip_grad_norm_ clip_grad_value_"},
    "torch.nn.utils.convert_parameters": {"torch.nn.utils": "parameters_to_vector vector_to_parameters"},
    "torch.nn.utils.fusion": {
        "torch.nn.utils": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights"
    },
    "torch.nn.utils.init": {"torch.nn.utils": "skip_init"},
    "torch.nn.utils.memory_format": {
        "torch.nn.utils": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format"
    },
    "torch.nn.utils.spectral_norm": {"torch.nn.utils": "remove_spectral_norm spectral_norm"},
    "torch.nn.utils.weight_norm": {"torch.nn.utils": "remove_weight_norm weight_norm"},
    "torch.optim.adadelta": {"torch.optim": "Adadelta"},
    "torch.optim.adagrad": {"torch.optim": "Adagrad"},
    "torch.optim.adam": {"torch.optim": "Adam"},
    "torch.optim.adamax": {"torch.optim": "Adamax"},
    "torch.optim.adamw": {"torch.optim": "AdamW"},
    "torch.optim.asgd": {"torch.optim": "ASGD"},
    "torch.optim.lbfgs": {"torch.optim": "LBFGS"},
    "torch.optim.nadam": {"torch.optim": "NAdam"},
    "torch.optim.optimizer": {"torch.optim": "Optimizer"},
    "torch.optim.radam": {"torch.optim": "RAdam"},
    "torch.optim.rmsprop": {"torch.optim": "RMSprop"},
    "torch.optim.rprop": {"torch.optim": "Rprop"},
    "torch.optim.sgd": {"torch.optim": "SGD"},
    "torch.optim.sparse_adam": {"torch.optim": "SparseAdam"},
    "torch.random": {"torch": "get_rng_state initial_seed manual_seed seed set_rng_state thread_safe_generator"},
    "torch.serialization": {"torch": "load save"},
    "torch.storage": {"torch": "TypedStorage UntypedStorage"},
    "torch.utils.data.dataloader": {"torch.utils.data": "DataLoader default_collate default_convert get_worker_info"},
    "torch.utils.data.dataset": {
        "torch.utils.data": (
            "ChainDataset ConcatDataset Dataset IterableDataset StackDataset Subset TensorDataset random_split"
        )
    },
    "torch.utils.data.distributed": {"torch.utils.data": "DistributedSampler"},
    "torch.utils.data.sampler": {
        "torch.utils.data": (
            "BatchSampler RandomSampler Sampler SequentialSampler SubsetRandomSampler WeightedRandomSampler"
        )
    },
    "torch.utils.dlpack": {"torch": "from_dlpack"},
}
"""Module -> module that has the same objects under the same names -> these."""

_RENAMED: dict[str, str] = {
    "numpy.absolute": "numpy.abs",
    "numpy.arccos": "numpy.acos",
    "numpy.arccosh": "numpy.acosh",
    "numpy.arcsin": "numpy.asin",
    "numpy.arcsinh": "numpy.asinh",
    "numpy.arctan": "numpy.atan",
    "numpy.arctan2": "numpy.atan2",
    "numpy.arctanh": "numpy.atanh",
    "numpy.bitwise_invert": "numpy.invert",
    "numpy.bitwise_left_shift": "numpy.left_shift",
    "numpy.bitwise_not": "numpy.invert",
    "numpy.bitwise_right_shift": "numpy.right_shift",
    "numpy.concat": "numpy.concatenate",
    "numpy.conjugate": "numpy.conj",
    "numpy.permute_dims": "numpy.transpose",
    "numpy.pow": "numpy.power",
    "numpy.remainder": "numpy.mod",
    "numpy.true_divide": "numpy.divide",
    "torch.FloatStorage": "torch.Storage",
}
"""What has another name there."""

ALIASES: dict[str, str] = {
    f"{module}.{name}": f"{home}.{name}"
    for module, homes in _MOVED.items()
    for home, names in homes.items()
    for name in names.split()
} | _RENAMED
_HEADS = ("torch.", "numpy.")


def known_as(path: str) -> str:
    """The name by which the tables know what a dotted name stands for, or what it is a part of."""
    if not path.startswith(_HEADS):
        return path
    found = ALIASES.get(path)
    if found is not None:
        return found
    whole, _, part = path.rpartition(".")
    return f"{ALIASES[whole]}.{part}" if whole in ALIASES else path
