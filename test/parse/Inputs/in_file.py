"""in_file.py LIST FILE: each name that tplanc --list has shown is in the safetensors file, with its bytes."""
import json
import sys

data = open(sys.argv[2], "rb").read()
header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
lines = open(sys.argv[1]).read().splitlines()[:-1]
for line in lines:
    begin, end = header[line.split()[0]]["data_offsets"]
    assert line.endswith(f" {end - begin} bytes"), (line, begin, end)
print(f"{len(lines)} names, all there with these bytes")
