// Starts a server and calls its API.
import { startServer } from 'headworks';
import { createClient } from 'headworks/client';

const server = await startServer({ dataFolder: 'server', port: 0 });
try {
  const client = createClient({ baseUrl: server.url, token: server.adminToken });
  const { organizations } = await client.call('GET /api/v1/organizations');
  console.log(`${server.url} has ${organizations.length} organizations`);
} finally {
  await server.stop();
}
