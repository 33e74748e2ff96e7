"""Checks what scripts/resource-report.py reads from a disassembly, and how it compares
tables: check_resource_report.py SCRIPT."""

import importlib.util
import sys

spec = importlib.util.spec_from_file_location("report", sys.argv[1])
report = importlib.util.module_from_spec(spec)
sys.modules["report"] = report
spec.loader.exec_module(report)

# An outer loop, a wait in vain moved past the end, and two loops with products.
CODE = """
.text.kernel:
        /*0000*/                   USETMAXREG.DEALLOC.CTAPOOL 0x18 ;
        /*0010*/                   USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0 ;
.L_x_0:
        /*0020*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24 ;
.L_x_1:
        /*0030*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24 ;
.L_x_2:
        /*0040*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;
        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0060*/                   MUFU.EX2 R1, R1 ;
        /*0070*/              @!P0 MUFU.EX2 R2, R2 ;
        /*0080*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0090*/                   MUFU.EX2 R3, R3 ;
        /*00a0*/              @!P2 BRA `(.L_x_1) ;
.L_x_3:
        /*00b0*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24 ;
        /*00c0*/              @!P2 BRA `(.L_x_3) ;
        /*00d0*/              @!P2 BRA `(.L_x_0) ;
        /*00e0*/                   EXIT ;
        /*00f0*/              @!P0 BRA `(.L_x_2) ;
"""


def expect(got, wanted):
    if got != wanted:
        sys.exit(f"expected {wanted}, but got {got}")


expect(report.describe_code(CODE), {
    "products": "4, 2", "loop": "8", "waits": "1 at 0; 0 at 2 of 3",
    "setmaxnreg": "24 / 240"})
expect(report.describe_code("        /*0000*/                   EXIT ;\n"), {
    "products": "0, 0", "loop": "0", "waits": "-", "setmaxnreg": ""})

ROW = dict.fromkeys(report.COLUMNS, "1")
both = report.parse_rows(report.format_rows([{**ROW, "type": "bf16, f16"}]))
expect(report.check(both, [{**ROW, "type": "bf16"}, {**ROW, "type": "f16"}],
                    report.COLUMNS[5:]), [])
expect(report.check(both, [{**ROW, "type": "bf16", "registers": "168"}],
                    ["registers"]),
       ["1 1 1 1 1 bf16: expected 'registers' to be 168, but got 1",
        "expected rows of shipped kernels, but got one for 1 1 1 1 1 f16"])
expect(report.check([], [ROW], []), ["expected a row for 1 1 1 1 1 1, but got none"])
