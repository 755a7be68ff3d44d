// The text of a PDF, page by page.
import { getDocumentProxy } from 'unpdf';
import type { Parsed } from './parsed.ts';

/** A message names at most so many pages. */
const mostNamed = 10;

export async function readPdf(bytes: Uint8Array): Promise<Parsed> {
  let pdf: Awaited<ReturnType<typeof getDocumentProxy>>;
  try {
    pdf = await getDocumentProxy(bytes, { verbosity: 0, stopAtErrors: false });
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException')
      return { problem: 'it is protected with a password. Save it without one and send it again.' };
    throw error;
  }
  const pages: string[] = [];
  const silent: number[] = [];
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items
      .map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : ''))
      .join('')
      .trim();
    page.cleanup();
    if (text === '') silent.push(number);
    else pages.push(text);
  }
  if (pages.length === 0)
    return {
      problem:
        'it has no text; its pages seem to be scanned. Send them as images (PNG, JPEG) to a model that sees, or let an OCR program add the text.',
    };
  return { text: pages.join('\n\n'), warnings: silent.length === 0 ? [] : [withoutText(silent)] };
}

function withoutText(pages: readonly number[]): string {
  const named = pages.slice(0, mostNamed).join(', ');
  const more = pages.length > mostNamed ? ` and ${pages.length - mostNamed} more` : '';
  return pages.length === 1
    ? `Page ${named} has no text (scanned?) and was left out.`
    : `Pages ${named}${more} have no text (scanned?) and were left out.`;
}
