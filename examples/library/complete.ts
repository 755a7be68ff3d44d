// Completes a prompt; the second model answers while the first one fails.
import { createGateway } from 'headworks/gateway';

const gateway = await createGateway({
  models: [
    { name: 'primary', baseUrl: process.env['PRIMARY_URL'] ?? 'http://127.0.0.1:8001/v1' },
    { name: 'backup', baseUrl: process.env['BACKUP_URL'] ?? 'http://127.0.0.1:8002/v1' },
  ],
});
try {
  const { text, model } = await gateway.complete({ prompt: 'Name three rivers.', model: 'primary,backup' });
  console.log(`${model}: ${text}`);
} finally {
  await gateway.close();
}
