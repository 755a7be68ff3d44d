// A text with marks. Said to who does not see them by the element alone, which is enough for a few words.
import { Fragment } from 'react';
import type { Range } from './marks.ts';
import { piecesOf } from './marks.ts';

export function MarkedText({ text, marks }: { readonly text: string; readonly marks: readonly Range[] }) {
  return piecesOf(text, marks).map((piece) =>
    piece.marks.length === 0 ? (
      <Fragment key={piece.start}>{piece.text}</Fragment>
    ) : (
      <mark key={piece.start}>{piece.text}</mark>
    ),
  );
}
