"""Cases of resizing, padding with what lies at the edge, patches, and pixels that change places."""

import torch
from torch import nn
from torch.nn import functional

from lessonpress.replay.operations.torch_cases import IMAGE, SIGNAL, case, floats, layer

VOLUME, DEEP = floats(1, 2, 3, 4, 2), floats(2, 8, 4, 6)
MODES = ["bilinear", "bicubic"]

CASES = [
    *[case("interpolate", IMAGE, scale_factor=2.0, mode=mode, align_corners=corners)
      for mode in MODES for corners in (True, False)],
    *[case("interpolate", IMAGE, size=(5, 9), mode=mode) for mode in (*MODES, "area", "nearest", "nearest-exact")],
    *[case("interpolate", IMAGE, scale_factor=(1.7, 0.6), mode=mode) for mode in (*MODES, "nearest", "area")],
    case("interpolate", IMAGE, None, (1.7, 0.6), "bilinear", recompute_scale_factor=True),
    case("interpolate", IMAGE, (1, 1), None, "bilinear", True),
    case("interpolate", SIGNAL, size=4, mode="linear"),
    case("interpolate", SIGNAL, scale_factor=0.5, mode="nearest-exact"),
    case("interpolate", VOLUME, scale_factor=2, mode="trilinear"),
    *[case("pad", IMAGE, (1, 2, 3, 0), mode) for mode in ("circular", "reflect", "replicate")],
    *[case("pad", SIGNAL, (2, 1), mode=mode) for mode in ("circular", "reflect", "replicate")],
    *[case("unfold", IMAGE, size, oracle=functional.unfold, **kwargs) for size, kwargs in (
        ((2, 3), {}), (2, {"stride": 2}), ((3, 2), {"padding": 1, "dilation": (1, 2)}))],
    case("unfold", IMAGE[0], (2, 2), 1, 0, oracle=functional.unfold),
    case("pixel_shuffle", DEEP, 2),
    case("pixel_unshuffle", DEEP, 2),
    case("pixel_shuffle", DEEP[0], 2),
    case("channel_shuffle", DEEP, 4),
    layer(nn.PixelShuffle, DEEP, upscale_factor=2),
    layer(nn.PixelUnshuffle, DEEP, downscale_factor=2),
    layer(nn.ChannelShuffle, DEEP, groups=2),
    layer(nn.Unfold, IMAGE, kernel_size=2, stride=2),
    layer(nn.ReflectionPad1d, SIGNAL, padding=2),
    layer(nn.ReflectionPad2d, IMAGE, padding=(1, 2, 0, 1)),
    layer(nn.ReplicationPad1d, SIGNAL, padding=(1, 3)),
    layer(nn.ReplicationPad2d, IMAGE, padding=1),
    layer(nn.CircularPad1d, SIGNAL, padding=2),
    layer(nn.CircularPad2d, IMAGE, padding=(1, 2, 0, 1)),
    case("resize", IMAGE, None, 1.5, "bilinear", oracle=lambda x, s, f, m: torch.nn.functional.interpolate(x, s, f, m)),
]  # fmt: skip
