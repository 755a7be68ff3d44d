// The entry of a gateway process: `GatewayProcesses` forks it. What it serves is in serve-gateway.ts, which is imported
// when it is certain that this process cannot outlive the main one.
import type { Socket } from 'node:net';
import type { GatewayProcess } from './serve-gateway.ts';
import type { ToProcess } from './protocol.ts';

process.on('disconnect', () => process.exit());
if (!process.connected) process.exit();
// The main process stops this one: it lets requests end that it passed on. A terminal signals both.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

let serving: Promise<GatewayProcess> | undefined;

process.on('message', (message: ToProcess, socket?: Socket) => {
  if (message.kind === 'start')
    serving = import('./serve-gateway.ts').then(({ serveGateway }) => serveGateway(message.settings));
  else void serving?.then((server) => server.receive(message, socket));
});
