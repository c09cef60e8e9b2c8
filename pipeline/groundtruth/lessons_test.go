package groundtruth_test

const lossLessons = `
* **lost**: packets lost ahead of the tap, in every pass (the last packet of a pass aside, which no tap can miss).
  **tries**: how often the sender went back; **by timer**: those for which it first waited for its timer.
* **sent again**: packets that arrived after a step back, whether the tap had seen them before or not.
* **new data**: payload that arrived for the first time, of all payload that arrived. The rest was carried for nothing.
* **waiting**: share of the run in which the sender had sent nothing for so long that its timer ran out.

The machines are virtual and share their processors: without any loss, runs differ by up to a third, so nothing can be read
from the goodput of the rows up to 0.3 %. From 1 % on the fall is far beyond that.

## What to learn from it

**One lost packet costs a window, not a packet.** With go-back-N the receiver throws away everything behind the gap and
the sender sends it all again. Up to 0.3 %, 68 to 129 packets were sent again for each one lost: the window is 128 packets.
(Above, one pass has several losses, and shares its cost.) In a fabric the window is what is in flight: at 100 Gbit/s and
20 µs 250 KB, or 61 packets of 4 KiB, and with a queue of 1 MB ahead of it 244 more.

**The cliff is at one loss a window.** 1 in 128 is 0.8 %, and there the curves break: at 0.3 % four fifths of what arrives is
new and goodput is at 80 %; at 1 % half of it is new. With 1,000 packets in flight the same point is at 0.1 %, where the
saying has it. The loss that a fabric can bear shrinks as it gets faster and its queues get longer.

**Loss feeds on itself.** What is sent again is lost at the same rate as the rest. At 5 % six of seven packets that arrive have
been there before, and 10,240 packets took 79,000 transmissions at path MTU 1024.

**Beyond the cliff, time goes to waiting and not to sending.** A receiver sends one NAK for a gap. If the resend of the missing
packet is lost as well, nothing tells the sender, and only its timer gets it going: 67 ms here, a time in which a
100 Gbit/s port sends 800 MB. At 5 % that is 90 % of the run with path MTU 1024, and 63 % with 4096. What is sent again, which is all
that port counters show, explains a factor of 7; the goodput fell by factors of 50 and 12.

**The ACK timeout sets the price of the second loss.** The wait is the timeout times the number of tries by timer. 14 (67 ms)
is what perftest takes, NCCL takes 20 (4.3 s): one unlucky packet, and a collective stands still that long. In a fabric
with round trips of 20 µs, 10 or 11 (4 to 8 ms) is long enough. A shorter timer makes no pass shorter, though: it treats the
symptom.

**What to look at first.** Tries by timer, before retransmitted packets: mlx5 counts them as local_ack_timeout_err. A NIC that
shows packet_seq_err alone is still on the good side of the cliff. A drop counter of 1 in 1,000 looks harmless and is not,
for each of these drops throws a window away.

**Even loss and bursts are different illnesses.** These drops are spread evenly, as those of a dirty optic or a bad cable. A full
queue drops neighbours, and one try repairs them all: incast_bottleneck_drops_* lost 8 packets and went back once. So hold
the number of tries against the number of packets lost: near one, look for the cable; many packets a try, look for the queue.
`

const groundTruthRules = `
## What the captures say about the rules

These rules are what it takes to agree with the hosts to the packet; simpler ones did not.

* **IP IDs rise in a flow of requests**, to one queue pair, in every capture with IPv4, wraps at 65,536 included. They do
  not rise over all packets of a host: with two processors and several queue pairs packets overtake one another between
  numbering and sending, and a program that crafts packets numbers its own.
* **The first packet of a resend can be lost too.** The step back is then seen at a later PSN than the sender went back to. The
  last sequence NAK says where: if it names a PSN below, which has not come since, the sender went back to that one, and
  what lies between is missing in the new pass. This happened 85 times in the sweeps. Without this rule those losses
  are missed, or look like losses of the capture.
* **A jump in a resend to exactly the next new PSN** ends a selective repair, or the last packets of the resend were
  lost. Which it was is known at the next step back: one that begins at or before the jump says lost.
* **What the capture lost the tap never saw**: a PSN that was seen in an earlier pass is not one that the capture lost.
* **A counter of retries counts more than packets.** completer_retry_err has retries that send nothing, and the sequence NAKs that
  Soft-RoCE sends after an RNR NAK. rcvd_seq_err is less than the NAKs that arrive: some come while a retry runs.
* **PSNs of UD belong to the sending queue pair**, over all that it sends to. Where one sends to several, a gap towards one
  of them is none.
`
