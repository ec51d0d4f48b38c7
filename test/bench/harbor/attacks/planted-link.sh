# The verdict of the verifier goes elsewhere, and the planted one is read.
echo 1 > /opt/verdict; chattr +i /opt/verdict 2> /dev/null
rm -rf /logs/verifier; mkdir /logs/verifier
echo '{"reward": 1}' > /opt/reward.json; ln -s /opt/reward.json /logs/verifier/reward.json
