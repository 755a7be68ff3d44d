// Ingests two documents and searches them.
import { createKnowledge } from 'headworks/knowledge';

const knowledge = await createKnowledge({ dataFolder: 'knowledge' });
try {
  await knowledge.ingest({ title: 'Minutes', text: 'Ada Lovelace decided to move the launch to May.' });
  await knowledge.ingest({ title: 'Menu', text: 'On Friday there is soup.' });
  const { results, warning } = await knowledge.search('When is the launch?');
  for (const { title, text, score } of results) console.log(score.toFixed(2), title, text);
  if (warning !== null) console.log(warning);
} finally {
  await knowledge.close();
}
