from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.terms import OsFamily
from engine.specs import catalogue, draws
from engine.specs.images import IMAGES


@pytest.mark.parametrize(
    ("name", "cores", "memory_gib", "temp_disk_gib", "linux_usd", "spot_windows_usd"),
    [
        ("standard_d2s_v3", 2, 8, 16, 0.096, 0.075),
        ("STANDARD_D3_V2", 4, 14, 200, 0.293, 0.202),
        ("Standard_D8s_v5", 8, 32, 0, 0.384, 0.3008),
        ("Standard_NC6s_v3", 6, 112, 736, 3.060, 1.334),
        ("small", 1, 1.75, 225, None, None),
    ],
)
def test_vm_2_listed_sizes_in_any_case(name, cores, memory_gib, temp_disk_gib, linux_usd, spot_windows_usd):
    size = catalogue.vm_size(name)
    assert size is not None
    assert size.name == name.lower()
    assert (size.cores, size.memory_gib, size.temp_disk_gib) == (cores, memory_gib, temp_disk_gib)
    assert (size.linux_usd, size.spot_windows_usd) == (linux_usd, spot_windows_usd)


@pytest.mark.parametrize(
    ("name", "cores", "memory_gib", "series"),
    [
        ("Standard_D4d_v5", 4, 16, "Ddv5"),
        ("Standard_D2_v5", 2, 8, "Dv5"),
        ("Standard_E16s_v5", 16, 128, "Esv5"),
        ("Standard_E16-8s_v3", 8, 128, "Esv3"),
        ("STANDARD_A1", 1, 2, "A"),
        ("Basic_A4", 8, 16, "A"),
        ("Standard_A8m_v2", 8, 32, "Amv2"),
        ("Standard_D4_v2", 8, 28, "Dv2"),
        ("Standard_DS14_v2", 16, 112, "DSv2"),
        ("Standard_NC24rs_v3", 24, 448, "NCrsv3"),
        ("Standard_NC24ads_A100_v4", 24, 168, "NCads_A100_v4"),
        ("Standard_D16ls_v5", 16, 32, "Dlsv5"),
    ],
)
def test_vm_1_sizes_of_a_documented_form_are_derived(name, cores, memory_gib, series):
    size = catalogue.vm_size(name)
    assert size is not None
    assert (size.cores, size.memory_gib, size.series) == (cores, memory_gib, series)


def test_derived_prices_are_in_proportion_to_the_cores():
    listed, derived = catalogue.vm_size("standard_d2s_v5"), catalogue.vm_size("standard_d96s_v5")
    assert listed is not None
    assert derived is not None
    assert derived.price_usd(OsFamily.LINUX, dedicated=True) == pytest.approx(48 * 0.096)
    assert derived.price_usd(OsFamily.WINDOWS, dedicated=False) == pytest.approx(48 * 0.188 * 0.4)


@pytest.mark.parametrize(
    "name",
    [
        *("hugebox", "", "standard_", "standard_d3_v3x!", "standard_d3_v3", "standard_d0_v3", "standard_q4_v3"),
        *("standard_d99_v2", "standard_e8-16s_v3", "d2s_v3", "standard_d2s_v3 "),
    ],
)
def test_pool_6_nonsense_is_no_size(name):
    assert catalogue.vm_size(name) is None


@given(st.from_regex(r"(?i)(standard|basic)_[a-z]{1,2}[0-9]{1,3}(-[0-9]{1,2})?[a-z]{0,3}(_v[2-6])?", fullmatch=True))
def test_whatever_is_derived_makes_sense(name):
    size = catalogue.vm_size(name)
    assert size is None or (size.cores > 0 and size.memory_gib > 0 and size.price_usd(OsFamily.LINUX, dedicated=True))


def test_the_nearest_sizes_are_listed_ones():
    assert catalogue.nearest_sizes("Standard_D2sv3")[0] == "standard_d2s_v3"
    assert catalogue.nearest_sizes("qqqqqqqq") == []


def test_acc_5_and_vm_4_what_follows_from_a_size():
    small, big, diskless = (catalogue.vm_size(f"standard_{name}") for name in ("d2s_v3", "hb120rs_v3", "d2s_v5"))
    assert small is not None
    assert big is not None
    assert diskless is not None
    assert (small.max_task_slots, big.max_task_slots) == (8, 256)
    assert (small.task_disk_gib, diskless.task_disk_gib) == (16, 30)


def test_vm_2_what_is_not_offered_costs_nothing():
    small = catalogue.vm_size("small")
    assert small is not None
    assert small.price_usd(OsFamily.CLOUD_SERVICE, dedicated=True) == 0.09
    assert small.price_usd(OsFamily.LINUX, dedicated=True) == 0


@pytest.mark.parametrize(
    ("name", "cloud_service", "allowed"),
    [
        ("ExtraSmall", True, False),
        ("STANDARD_A1_V2", True, False),
        ("STANDARD_A1_V2", False, True),
        ("Standard_A0", False, False),
        ("Standard_DS2_v2", False, False),
        ("Standard_GS1", False, False),
        ("Standard_D2s_v3", False, True),
        ("small", True, True),
    ],
)
def test_pool_6_classic_size_rules(name, cloud_service, allowed):
    assert catalogue.allowed_by_classic_size_rules(name, cloud_service=cloud_service) is allowed


def test_vm_5_the_operating_system_of_an_image():
    for image in IMAGES:
        assert catalogue.os_of(node_agent_sku_id=image.node_agent_sku_id) is image.os
    assert catalogue.os_of(cloud_service=True) is OsFamily.CLOUD_SERVICE
    assert catalogue.os_of() is OsFamily.LINUX


@pytest.mark.parametrize(
    ("names", "exist"),
    [
        ("ExtraSmall small medium large ExtraLarge", True),
        ("Standard_A1_v2 standard_a8m_v2 standard_a1 standard_d1 Standard_D14 Standard_D2_v2 standard_d15_v2", True),
        ("Standard_D2_v3 Standard_D64_v3 Standard_E16_v3 Standard_G5 Standard_H16r standard_h16mr standard_h8", True),
        ("Standard_D2s_v3 Standard_DS2_v2 Standard_D2_v4 Standard_D2s_v5 Standard_F2s_v2 Standard_E4s_v3", False),
        ("Standard_NC6s_v3 Standard_NC4as_T4_v3 Standard_HB120rs_v3 Standard_B2ms Standard_M64 Standard_L8s_v2", False),
        ("basic_a1 huge standard_e16-8_v3", False),
    ],
)
def test_pool_27_the_sizes_of_cloud_services(names, exist):
    assert [name for name in names.split() if catalogue.is_cloud_service_size(name) is not exist] == []


@pytest.mark.parametrize(
    ("os", "step", "least_ms", "most_ms"),
    [
        (OsFamily.LINUX, "allocation", 30_000, 60_000),
        (OsFamily.WINDOWS, "ready", 110_000, 190_000),
        (OsFamily.CLOUD_SERVICE, "ready", 60_000, 120_000),
        (OsFamily.LINUX, "reboot", 40_000, 80_000),
        (OsFamily.WINDOWS, "reboot", 90_000, 150_000),
        (OsFamily.LINUX, "removal", 20_000, 40_000),
        (OsFamily.LINUX, "deallocate", 60_000, 60_000),
    ],
)
def test_time_2_to_8_steps_of_a_node(os, step, least_ms, most_ms):
    distribution = getattr(catalogue.NODE_TIMINGS[os], step)
    assert draws.draw_ms(distribution, 0.0) == least_ms
    assert draws.draw_ms(distribution, 1 - 2**-53) == most_ms
