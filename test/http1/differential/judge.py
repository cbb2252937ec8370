"""Answers what h11 makes of HTTP/1.1 input. Each input is a letter (Q: requests, R: responses, H: responses to HEAD), its length in
four bytes, and its bytes; each answer is a line of JSON, as in verdict.ts."""
import json
import sys

import h11

OWN = h11.Request(method="GET", target="/", headers=[("host", "a")])
HEAD = h11.Request(method="HEAD", target="/", headers=[("host", "a")])
# A success would switch to another protocol after CONNECT.
ANSWER = h11.Response(status_code=404, headers=[("content-length", "0")])
END = h11.EndOfMessage()


def text(value):
    return bytes(value).decode("latin-1")


class Judge:
    def __init__(self, kind, data):
        self.kind = kind
        self.data = data
        self.messages = []
        self.refused = False
        role = h11.SERVER if kind == b"Q" else h11.CLIENT
        self.conn = h11.Connection(role, max_incomplete_event_size=64 * 1024)

    def request(self):
        self.conn.send(HEAD if self.kind == b"H" else OWN)
        self.conn.send(END)

    def add(self, event):
        line = (
            [text(event.method), text(event.target), text(event.http_version)[-1]]
            if isinstance(event, h11.Request)
            else [str(event.status_code)]
        )
        fields = [text(part) for field in event.headers for part in field]
        self.messages.append({"line": line, "fields": fields, "body": "", "end": -1, "isWhole": False})

    def next(self):
        """Begins the next exchange. Returns False if the connection ends."""
        conn = self.conn
        if self.kind == b"Q":
            conn.send(ANSWER)
            conn.send(END)
        if conn.our_state is not h11.DONE or conn.their_state is not h11.DONE:
            return False
        conn.start_next_cycle()
        if self.kind != b"Q":
            self.request()
        return True

    def run(self):
        conn = self.conn
        if self.kind != b"Q":
            self.request()
        conn.receive_data(self.data)
        conn.receive_data(b"")
        while True:
            event = conn.next_event()
            if isinstance(event, (h11.Request, h11.Response)):
                self.add(event)
            elif isinstance(event, h11.InformationalResponse):
                # A switch of protocols has no request here.
                if event.status_code == 101:
                    self.refused = True
                    return
            elif isinstance(event, h11.Data):
                self.messages[-1]["body"] += text(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.messages[-1]["isWhole"] = True
                self.messages[-1]["end"] = len(self.data) - len(conn.trailing_data[0])
                if not self.next():
                    return
            else:
                return

    def answer(self):
        try:
            self.run()
        except h11.RemoteProtocolError as error:
            # The end of the input is no fault of its bytes.
            self.refused = not any(
                part in str(error) for part in ("peer closed connection", "peer unexpectedly closed connection")
            )
        return {"messages": self.messages, "isRefused": self.refused}


def main():
    stdin, stdout = sys.stdin.buffer, sys.stdout
    while True:
        head = stdin.read(5)
        if len(head) < 5:
            return
        data = stdin.read(int.from_bytes(head[1:], "big"))
        stdout.write(json.dumps(Judge(head[:1], data).answer()) + "\n")
        stdout.flush()


main()
