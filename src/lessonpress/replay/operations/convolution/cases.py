"""Calls that show each way of calling the operations of this family."""

from __future__ import annotations

from torch import nn

from lessonpress.replay.operations.torch_cases import IMAGE, SIGNAL, Case, LayerCase, case, floats, layer

CASES: list[Case | LayerCase] = [
    case("conv1d", SIGNAL, floats(6, 4, 3), floats(6)),
    case("conv1d", SIGNAL, floats(6, 2, 3), None, 2, 1, 2, 2),
    case("conv1d", SIGNAL[0], floats(6, 4, 2)),
    case("conv1d", SIGNAL, floats(6, 4, 3), padding="same"),
    case("conv2d", IMAGE, floats(3, 4, 3, 2), floats(3)),
    case("conv2d", IMAGE, floats(4, 1, 3, 3), None, (2, 1), (1, 2), groups=4),
    case("conv2d", IMAGE[0], floats(3, 4, 2, 2), padding="valid"),
    case("conv2d", IMAGE, floats(3, 4, 3, 3), padding="same", dilation=(1, 2)),
    case("max_pool1d", SIGNAL, 3),
    case("max_pool1d", SIGNAL, 3, 2, 1),
    case("max_pool2d", IMAGE, 2),
    case("max_pool2d", IMAGE, (3, 2), (1, 2), (1, 0), 2),
    case("avg_pool1d", SIGNAL, 3),
    case("avg_pool1d", SIGNAL, 3, 2, 1),
    case("avg_pool2d", IMAGE, 2),
    case("avg_pool2d", IMAGE, 3, 2, 1, False, False),
    case("avg_pool2d", IMAGE[0], 2, divisor_override=3),
    *[case("adaptive_avg_pool1d", SIGNAL, n) for n in (1, 4)],
    *[case("adaptive_avg_pool2d", IMAGE, n) for n in (1, (3, 4), (None, 2))],
    case("conv_transpose1d", SIGNAL, floats(4, 3, 3), floats(3), 2, 1, 1),
    case("conv_transpose1d", SIGNAL[0], floats(4, 2, 2), None, 1, 0, 0, 2, 2),
    case("conv_transpose2d", IMAGE, floats(4, 3, 3, 2), floats(3), (2, 1), (1, 0)),
    *[case("interpolate", x, scale_factor=2) for x in (SIGNAL, IMAGE)],
    case("interpolate", IMAGE, size=(14, 6)),
    layer(nn.Conv1d, SIGNAL, in_channels=4, out_channels=6, kernel_size=3, padding=1, groups=2, stride=2),
    layer(nn.Conv2d, IMAGE, in_channels=4, out_channels=2, kernel_size=(3, 2), dilation=(2, 1), bias=False),
    layer(nn.Conv2d, IMAGE, in_channels=4, out_channels=2, kernel_size=3, padding="same"),
    *[
        layer(cls, x, kernel_size=2)
        for cls, x in [(nn.MaxPool1d, SIGNAL), (nn.MaxPool2d, IMAGE), (nn.AvgPool1d, SIGNAL), (nn.AvgPool2d, IMAGE)]
    ],
    layer(nn.AvgPool2d, IMAGE, kernel_size=3, stride=2, padding=1, count_include_pad=False),
    layer(nn.MaxPool2d, IMAGE, kernel_size=3, stride=(2, 1), padding=1),
    layer(nn.AdaptiveAvgPool1d, SIGNAL, output_size=1),
    layer(nn.AdaptiveAvgPool2d, IMAGE, output_size=(1, 1)),
    layer(
        nn.ConvTranspose1d, SIGNAL, in_channels=4, out_channels=6, kernel_size=3, stride=2, output_padding=1, groups=2
    ),
    layer(nn.ConvTranspose2d, IMAGE, in_channels=4, out_channels=2, kernel_size=2, dilation=2, padding=1, bias=False),
    layer(nn.Upsample, IMAGE, scale_factor=3),
    layer(nn.Upsample, IMAGE, scale_factor=1.5, mode="bilinear"),
    layer(nn.Upsample, IMAGE, size=(4, 9), mode="bicubic", align_corners=True),
]
