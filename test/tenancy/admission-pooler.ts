// A proxy to Postgres that loses notifications, like a pooler in transaction mode.
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

const notification = 'A'.charCodeAt(0);

/** The address of a proxy in front of this server, for one test. */
export async function withoutNotifications(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const postgres = connect(Number(port || 5432), hostname);
    for (const socket of [client, postgres]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(postgres);
    const filter = messageFilter((type) => type !== notification);
    postgres.on('data', (chunk) => void client.write(filter(chunk)));
    postgres.on('close', () => client.destroy());
    client.on('close', () => postgres.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const target = new URL(url);
  target.hostname = '127.0.0.1';
  target.port = String((server.address() as AddressInfo).port);
  return target.href;
}

/** A Postgres message is a letter, a length that includes itself (four bytes), and the content. */
function messageFilter(isPassed: (type: number) => boolean): (chunk: Buffer) => Buffer {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const passed: Buffer[] = [];
    while (rest.length >= 5 && rest.length >= 1 + rest.readUInt32BE(1)) {
      const length = 1 + rest.readUInt32BE(1);
      if (isPassed(rest[0] ?? 0)) passed.push(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
    return Buffer.concat(passed);
  };
}
