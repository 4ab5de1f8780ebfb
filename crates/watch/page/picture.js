// Pictures of arrays: colours for numbers, and a scale.

// Anchors of a scale from dark blue to yellow that is even to the eye, also without colour.
const ANCHORS = [[52, 20, 84], [63, 71, 136], [38, 130, 142], [64, 176, 120], [148, 211, 72], [253, 231, 55]];

/** A colour for a share from 0 to 1. */
export function colour(share) {
  const place = Math.min(Math.max(share, 0), 1) * (ANCHORS.length - 1);
  const below = Math.min(Math.floor(place), ANCHORS.length - 2);
  return ANCHORS[below].map((low, part) => Math.round(low + (ANCHORS[below + 1][part] - low) * (place - below)));
}

/** Draws rows of numbers on a canvas, a pixel each, and returns the least and the greatest. */
export function draw(canvas, rows, width, height) {
  let [least, greatest] = [Infinity, -Infinity];
  for (const row of rows) {
    for (const number of row) {
      if (number < least && number > -Infinity) least = number;
      if (number > greatest && number < Infinity) greatest = number;
    }
  }
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const paint = canvas.getContext("2d");
  const image = paint.createImageData(Math.max(width, 1), Math.max(height, 1));
  // Halves, so that the range of the largest numbers is one itself. What is infinite has the colour of the end that it is at.
  const range = greatest / 2 - least / 2 || 1;
  rows.forEach((row, y) => {
    row.forEach((number, x) => {
      const at = (y * width + x) * 4;
      if (Number.isNaN(number)) return;
      [image.data[at], image.data[at + 1], image.data[at + 2]] = colour((number / 2 - least / 2) / range);
      image.data[at + 3] = 255;
    });
  });
  paint.putImageData(image, 0, 0);
  return [least, greatest];
}

/** Places for some of `count` cells, at most `room`: how far along each is, from 0 to 1, and its number. */
export function places(count, room) {
  const least = count / Math.max(room, 1);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((part) => part * power).find((wide) => wide >= least) ?? 1;
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => [(index * step + 0.5) / count, index * step]);
}

/** Paints the scale itself. */
export function scale(canvas) {
  [canvas.width, canvas.height] = [128, 1];
  const row = Float64Array.from({ length: 128 }, (_, x) => x);
  draw(canvas, [row], 128, 1);
}
