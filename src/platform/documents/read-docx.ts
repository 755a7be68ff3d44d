// The text of a Word document: to HTML first, so that headings, lists and tables stay apart.
import mammoth from 'mammoth';
import { zipProblem } from './check-zip.ts';
import type { Parsed } from './parsed.ts';
import { htmlToText } from './read-html.ts';

const withoutPictures = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));

export async function readDocx(bytes: Uint8Array): Promise<Parsed> {
  const problem = zipProblem(bytes);
  if (problem !== null) return { problem };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { value } = await mammoth.convertToHtml(
    { buffer },
    { convertImage: withoutPictures, externalFileAccess: false },
  );
  const text = htmlToText(value);
  const pictures = value.split('<img').length - 1;
  if (text.trim() === '' && pictures > 0)
    return { problem: 'it has pictures but no text. Send the pictures themselves to a model that sees.' };
  return {
    text,
    warnings:
      pictures === 0
        ? []
        : [pictures === 1 ? 'A picture in it was left out.' : `${pictures} pictures in it were left out.`],
  };
}
