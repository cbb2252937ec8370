"""A server of Python's h2 that answers every request once it is complete."""
import asyncio

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, StreamEnded
from h2.exceptions import ProtocolError, StreamClosedError


class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.conn = H2Connection(config=H2Configuration(client_side=False, header_encoding="utf-8"))
        self.conn.initiate_connection()
        transport.write(self.conn.data_to_send())

    def data_received(self, data):
        try:
            events = self.conn.receive_data(data)
        except ProtocolError:
            self.transport.write(self.conn.data_to_send())
            self.transport.close()
            return
        for event in events:
            try:
                self.handle(event)
            except (ProtocolError, StreamClosedError):
                pass
        self.transport.write(self.conn.data_to_send())

    def handle(self, event):
        if isinstance(event, DataReceived):
            self.conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.conn.send_headers(event.stream_id, [(":status", "200")])
            self.conn.send_data(event.stream_id, b"hello", end_stream=True)


async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
