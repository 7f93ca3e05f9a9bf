from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.base.terms import NodeProfile, OsFamily
from engine.specs import catalogue, draws
from engine.specs.images import IMAGES

# Facts of the documentation and the price list of East US: cores, GiB, GB, dollars with Linux and Windows.
KNOWN = [
    ("Standard_A1_v2", 1, 2, 10, 0.043, 0.065),
    ("Standard_B2ms", 2, 8, 16, 0.0832, 0.0912),
    ("standard_d2s_v3", 2, 8, 16, 0.096, 0.188),
    ("STANDARD_D3_V2", 4, 14, 200, 0.293, 0.504),
    ("Standard_D8s_v5", 8, 32, 0, 0.384, 0.752),
    ("Standard_D16ads_v5", 16, 64, 600, 0.824, 1.56),
    ("Standard_E32s_v3", 32, 256, 512, 2.016, 3.488),
    ("Standard_F72s_v2", 72, 144, 576, 3.045, 5.861),
    ("Standard_HB120rs_v3", 120, 448, 2100, 3.6, 9.12),
    ("Standard_L8s_v3", 8, 64, 80, 0.696, 1.064),
    ("Standard_NC6s_v3", 6, 112, 736, 3.06, 3.336),
    ("Standard_NC4as_T4_v3", 4, 28, 180, 0.526, 0.71),
    ("Standard_NC24ads_A100_v4", 24, 220, 958, 3.673, 4.777),
]


@pytest.mark.parametrize(("name", "cores", "memory_gib", "temp_disk_gb", "linux_usd", "windows_usd"), KNOWN)
def test_vm_2_listed_sizes_in_any_case(name, cores, memory_gib, temp_disk_gb, linux_usd, windows_usd):
    size = catalogue.vm_size(name)
    assert size is not None
    assert size.name == name.lower()
    assert (size.cores, size.memory_gib) == (cores, memory_gib)
    assert size.temp_disk_gib == pytest.approx(temp_disk_gb, rel=0.05)
    assert size.linux_usd == pytest.approx(linux_usd, rel=0.01)
    assert size.windows_usd == pytest.approx(windows_usd, rel=0.01)
    assert catalogue.is_listed(name)


@pytest.mark.parametrize(
    ("name", "gpus"),
    [
        ("Standard_NC24ads_A100_v4", 1),
        ("Standard_NV12ads_A10_v5", 1 / 3),
        ("Standard_NC64as_T4_v3", 4),
        ("standard_d1", 0),
    ],
)
def test_gpus_are_numbers(name, gpus):
    assert catalogue.vm_size(name).gpus == pytest.approx(gpus, abs=0.001)


@pytest.mark.parametrize(
    ("name", "cores", "memory_gib", "series"),
    [
        ("Standard_E16-8s_v3", 8, 128, "Esv3"),
        ("Standard_DS14-4_v2", 4, 112, "DSv2"),
        ("Basic_A4", 8, 14, "A"),
        ("Standard_GS4", 16, 224, "GS"),
        ("Standard_D2s_v6", 2, 8, "Dsv6"),
        ("Standard_D96s_v6", 96, 384, "Dsv6"),
        ("Standard_D16ls_v6", 16, 32, "Dlsv6"),
        ("Standard_DC2eds_v5", 2, 8, "DCedsv5"),
        ("Standard_NC40ads_H100_v5", 40, 280, "NCads_H100_v5"),
        ("Standard_D2_v2_Promo", 2, 7, "Dv2"),
        ("Standard_D11s", 2, 14, "DS"),  # as the price list spells Standard_DS11
    ],
)
def test_vm_1_sizes_of_a_documented_form_are_derived(name, cores, memory_gib, series):
    size = catalogue.vm_size(name)
    assert size is not None
    assert (size.cores, size.memory_gib, size.series) == (cores, memory_gib, series)


def test_derived_prices_are_in_proportion_to_the_cores():
    derived = catalogue.vm_size("standard_d96s_v6")
    assert derived is not None
    assert derived.price_usd(OsFamily.LINUX, dedicated=True) == pytest.approx(48 * 0.096)
    assert not catalogue.is_listed("standard_d96s_v6")


def test_vm_2_constrained_cores_cost_as_much_as_all_cores():
    whole, part = catalogue.vm_size("standard_e16s_v5"), catalogue.vm_size("standard_e16-4s_v5")
    assert part == whole._replace(name="standard_e16-4s_v5", cores=4)


def test_vm_2_a_listed_size_without_a_price_has_a_derived_one():
    size = catalogue.vm_size("standard_dc16es_v5")
    assert catalogue.is_listed(size.name)
    assert not catalogue.has_list_price(size.name)
    assert size.price_usd(OsFamily.LINUX, dedicated=True) > 0.5


def test_vm_2_a_price_for_the_other_operating_system_counts():
    assert catalogue.vm_size("standard_nv4as_v4").price_usd(OsFamily.LINUX, dedicated=True) == 0.417
    assert catalogue.vm_size("standard_d2ps_v5").price_usd(OsFamily.WINDOWS, dedicated=True) == 0.077


def test_vm_2_spot_nodes_cost_about_a_tenth_of_the_price():
    size = catalogue.vm_size("standard_d4s_v5")
    spot, dedicated = (size.price_usd(OsFamily.LINUX, dedicated=kind) for kind in (False, True))
    assert 0.05 < spot / dedicated < 0.25
    assert not catalogue.vm_size("standard_b2ms").has_spot


@pytest.mark.parametrize(
    ("start", "in_subscription", "usd"),
    [(date(2025, 9, 29), False, 0.2 * 0.192), (date(2025, 9, 29), True, 0.0192), (date(2025, 9, 30), False, 0.0192)],
)
def test_vm_2_low_priority_nodes_had_a_fixed_share(start, in_subscription, usd):
    size = catalogue.vm_size("standard_d4s_v5")
    if catalogue.has_low_priority(start, in_subscription=in_subscription):
        size = size.as_low_priority()
    assert size.price_usd(OsFamily.LINUX, dedicated=False) == pytest.approx(usd)
    assert not catalogue.vm_size("standard_b2ms").as_low_priority().has_spot


@pytest.mark.parametrize(
    ("name", "retires", "replacement"),
    [
        ("Standard_NC6s_v3", "2025-09-30", "NCads A100 v4"),
        ("standard_a1", "2024-08-31", "Dasv6"),
        ("standard_a8", "2024-08-31", "Dasv6"),  # not listed: as its series
        ("standard_nv4as_v4", "2026-09-30", "NVads A10 v5 or NVads V710 v5"),
        ("standard_hc44-16rs", "2027-05-31", "HBv4 or HX"),
        ("standard_np10s", "2027-05-31", ""),
        ("standard_f4s_v2", "2028-11-15", "Fasv6"),
        ("standard_nc4as_t4_v3", "None", ""),
        ("standard_d4s_v5", "None", ""),
    ],
)
def test_vm_6_the_day_of_retirement_and_what_to_use_instead(name, retires, replacement):
    size = catalogue.vm_size(name)
    assert (str(size.retires), size.replacement) == (retires, replacement)


def test_the_table_has_every_size_once_in_lower_case():
    names = [size.name for size in catalogue.listed_sizes()]
    assert len(names) == len(set(names)) > 760
    assert names == sorted(name.lower() for name in names)
    assert all(size.cores > 0 and size.memory_gib > 0 for size in catalogue.listed_sizes())


@pytest.mark.parametrize(
    "name",
    [
        *("hugebox", "", "standard_", "standard_d3_v3x!", "standard_d3_v3", "standard_d0_v3", "standard_q4_v3"),
        *("standard_d99_v2", "standard_e8-16s_v3", "d2s_v3", "standard_d2s_v3 "),
        *("name", "standard_a0,1", "\nstandard_a0", "a\nstandard_a0"),
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
    assert catalogue.nearest_sizes("D2s_v3") == ["standard_d2s_v3"]
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
    ("os", "cores", "step", "medians"),
    [
        (OsFamily.LINUX, 2, "allocation", (45, 100, 300)),
        (OsFamily.LINUX, 1, "ready", (20, 30, 90)),
        (OsFamily.WINDOWS, 2, "ready", (80, 140, 360)),
        (OsFamily.WINDOWS, 1, "ready", (175, 240, 500)),
        (OsFamily.WINDOWS, 1, "reboot", (70, 70, 135)),
        (OsFamily.CLOUD_SERVICE, 1, "ready", (210, 210, 210)),
        (OsFamily.LINUX, 2, "reboot", (60, 60, 60)),
        (OsFamily.WINDOWS, 2, "reimage", (185, 185, 290)),
        (OsFamily.LINUX, 2, "removal", (12, 40, 120)),
        (OsFamily.LINUX, 2, "deletion", (100, 140, 280)),
        (OsFamily.LINUX, 2, "deallocate", (38, 38, 60)),
        (OsFamily.LINUX, 2, "start", (61, 61, 90)),
        (OsFamily.LINUX, 2, "stop", (5.2, 5.2, 42)),
        (OsFamily.LINUX, 2, "recovery", (900, 1560, 2700)),
    ],
)
def test_time_2_to_8_steps_of_a_node(os, cores, step, medians):
    profiles = (catalogue.node_step(profile, step, os, cores) for profile in NodeProfile)
    assert tuple(draws.draw_ms(distribution, 0.5) / 1000 for distribution in profiles) == pytest.approx(medians)


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("standard_nc6s_v3", "standard_nc8as_t4_v3"),
        ("standard_d14_v2", "standard_e16"),
        ("standard_e8ds_v6", "standard_e8"),
        ("standard_d4s_v3", "standard_d4"),
        ("small", "None"),
        ("hugebox", "None"),
    ],
)
def test_the_current_size_that_is_most_like_another(name, similar):
    assert str(catalogue.current_size(name)).startswith(similar)
