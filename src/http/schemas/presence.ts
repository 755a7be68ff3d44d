// Attaching to a server, and asking it to make room.
import { z } from 'zod';

export const handoverAnswer = z
  .object({ accepted: z.literal(true) })
  .meta({ id: 'Handover', description: 'The server stops as soon as its requests are answered.' });
