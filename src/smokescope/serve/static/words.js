// How the page says things: figures with their digits, verdicts and maps in words.

export const MEANINGS = {
  mask: "Where the probability of smoke is above the threshold.",
  probability: "How likely each place is smoke.",
  total: "All doubt, in nats.",
  aleatoric: "Doubt that lies in the picture, in nats.",
  epistemic: "Doubt that lies in the model, in nats; more is shown alike.",
};

export const WORDS = {
  smoke: ["Smoke", "Look at once"],
  unsure: ["Unsure", "A person should look"],
  nothing: ["Nothing found", "That does not mean that there is nothing"],
};

export const percent = (share) => (share === 0 ? "0 %" : share < 0.0001 ? "< 0.01 %" : `${(100 * share).toFixed(share < 0.01 ? 2 : 1)} %`);

export const figure = (name, value) => {
  const digits = name === "epistemic" ? 3 : 2; // which is the smallest of them
  const least = 10 ** -digits;
  return value < least / 2 ? `< ${least}` : value.toFixed(digits);
};

export const duration = (ms) => (ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** A file's name as it may be shown: letters that would turn others around are made visible. */
export const nameOf = (file) => file.name.replace(/[\p{Cc}\p{Bidi_Control}]/gu, "\ufffd") || "the picture";

/** How many regions are smoke, and how many uncertain. */
export function describe(regions) {
  const smoke = regions.filter((each) => each.verdict === "smoke").length;
  const parts = [];
  if (smoke) parts.push(smoke === 1 ? "one region is smoke" : `${smoke} regions are smoke`);
  const unsure = regions.length - smoke;
  if (unsure) parts.push(smoke ? `${unsure === 1 ? "one is" : `${unsure} are`} uncertain` : unsure === 1 ? "one region is uncertain" : `${unsure} regions are uncertain`);
  return parts.join(", ");
}

/** What a region's verdict rests on, given the model's thresholds. */
export function why({ verdict, peak, doubt }, { smoke_above, epistemic_above }) {
  const percents = (share) => `${Number((100 * share).toFixed(1))} %`;
  const reached = `peak ${peak >= 0.995 ? "> 99 %" : percents(peak)}`; // never 100 %: nothing is sure
  const doubted = `doubt ${figure("epistemic", doubt)} there`;
  if (verdict === "smoke") return `${reached}, ${doubted}`;
  if (peak > smoke_above) return `${reached}, but ${doubted}: smoke up to ${epistemic_above}`;
  return `${reached}: called smoke above ${percents(smoke_above)}`;
}
