"""Encodes stories with the Python library hpack: standard input is a list of stories, standard output their blocks."""

import json
import sys

import hpack

stories = []
for story in json.load(sys.stdin):
    encoder = hpack.Encoder()
    blocks = []
    for step in story["steps"]:
        if "tableSize" in step:
            encoder.header_table_size = step["tableSize"]
        fields = step["fields"]
        pairs = [(fields[i].encode("latin-1"), fields[i + 1].encode("latin-1")) for i in range(0, len(fields), 2)]
        blocks.append(encoder.encode(pairs, huffman=step.get("huffman", True)).hex())
    stories.append(blocks)
json.dump({"encoder": "Python hpack " + hpack.__version__, "stories": stories}, sys.stdout)
